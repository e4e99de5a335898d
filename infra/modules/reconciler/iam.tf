# Policies are written with jsonencode, so that tests can read them back; a policy document data source is opaque to mocks.

data "aws_region" "current" {}

locals {
  # An IAM name has 64 characters, a cluster's up to 100.
  role_name = coalesce(var.role_name, "${substr(var.cluster_name, 0, 48)}-gpu-reconciler")

  # `id` is the region's name in version 5 and 6 of the provider; `name` and `region` are each in one only.
  regions = length(var.regions) > 0 ? var.regions : [data.aws_region.current.id]

  irsa        = var.identity_mode == "irsa"
  oidc_issuer = local.irsa ? split(":oidc-provider/", var.oidc_provider_arn)[1] : ""

  # Pod Identity tags each session with where it comes from, so the role serves this ServiceAccount of this cluster alone:
  # https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html
  pod_identity_trust = {
    Sid       = "OnlyTheControllersPodsInThisCluster"
    Effect    = "Allow"
    Principal = { Service = "pods.eks.amazonaws.com" }
    Action    = ["sts:AssumeRole", "sts:TagSession"]
    Condition = {
      StringEquals = {
        "aws:RequestTag/eks-cluster-name"           = var.cluster_name
        "aws:RequestTag/kubernetes-namespace"       = var.namespace
        "aws:RequestTag/kubernetes-service-account" = var.service_account
      }
    }
  }

  irsa_trust = {
    Sid       = "OnlyTheControllersServiceAccount"
    Effect    = "Allow"
    Principal = { Federated = var.oidc_provider_arn }
    Action    = ["sts:AssumeRoleWithWebIdentity"]
    Condition = {
      StringEquals = {
        "${local.oidc_issuer}:sub" = "system:serviceaccount:${var.namespace}:${var.service_account}"
        "${local.oidc_issuer}:aud" = "sts.amazonaws.com"
      }
    }
  }
}

resource "aws_iam_role" "controller" {
  name                 = local.role_name
  description          = "gpu-reconciler in ${var.cluster_name}: reads what EC2 says about instance types"
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    # Both sides as text, since the two statements are not of one type.
    Statement = [jsondecode(local.irsa ? jsonencode(local.irsa_trust) : jsonencode(local.pod_identity_trust))]
  })
}

resource "aws_iam_role_policy" "read_instance_types" {
  name = "read-instance-types"
  role = aws_iam_role.controller.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "ReadInstanceTypesOfTheseRegions"
      Effect = "Allow"
      Action = ["ec2:DescribeInstanceTypes"]
      # The action knows no resources; the region is what can be bounded.
      Resource  = "*"
      Condition = { StringEquals = { "aws:RequestedRegion" = local.regions } }
    }]
  })
}
