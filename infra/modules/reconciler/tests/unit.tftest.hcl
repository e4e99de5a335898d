# terraform test, without an AWS account: the provider is mocked.

mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { id = "eu-west-1" }
  }

  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
  }
}

variables {
  cluster_name = "demo"
}

run "by_default_pod_identity_serves_one_service_account_of_one_cluster" {
  assert {
    condition     = jsondecode(aws_iam_role.controller.assume_role_policy).Statement[0].Principal.Service == "pods.eks.amazonaws.com"
    error_message = "The role must trust Pod Identity."
  }

  assert {
    condition     = toset(jsondecode(aws_iam_role.controller.assume_role_policy).Statement[0].Action) == toset(["sts:AssumeRole", "sts:TagSession"])
    error_message = "Pod Identity needs AssumeRole and TagSession."
  }

  assert {
    condition = jsondecode(aws_iam_role.controller.assume_role_policy).Statement[0].Condition.StringEquals == {
      "aws:RequestTag/eks-cluster-name"           = "demo"
      "aws:RequestTag/kubernetes-namespace"       = "gpu-reconciler"
      "aws:RequestTag/kubernetes-service-account" = "gpu-reconciler"
    }
    error_message = "The trust must be bound to cluster, namespace and ServiceAccount."
  }

  assert {
    condition     = aws_eks_pod_identity_association.controller[0].role_arn == output.role_arn
    error_message = "The association must hand out the role."
  }

  assert {
    condition     = length(output.service_account_annotations) == 0
    error_message = "With Pod Identity no annotation may be set: the web identity would win."
  }
}

run "the_role_reads_instance_types_of_its_region_and_nothing_else" {
  assert {
    condition = jsondecode(aws_iam_role_policy.read_instance_types.policy).Statement == [{
      Sid       = "ReadInstanceTypesOfTheseRegions"
      Effect    = "Allow"
      Action    = ["ec2:DescribeInstanceTypes"]
      Resource  = "*"
      Condition = { StringEquals = { "aws:RequestedRegion" = ["eu-west-1"] } }
    }]
    error_message = "The policy must be this one statement."
  }

  assert {
    condition     = output.manifest_values.env.GPU_RECONCILER_AWS__REGION == "eu-west-1"
    error_message = "The manifests must be told the region."
  }
}

run "irsa_trusts_the_service_account_through_the_clusters_oidc_provider" {
  variables {
    identity_mode     = "irsa"
    oidc_provider_arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
    namespace         = "gpu"
  }

  assert {
    condition = jsondecode(aws_iam_role.controller.assume_role_policy).Statement[0].Condition.StringEquals == {
      "oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub" = "system:serviceaccount:gpu:gpu-reconciler"
      "oidc.eks.eu-west-1.amazonaws.com/id/ABC:aud" = "sts.amazonaws.com"
    }
    error_message = "The trust must be bound to the ServiceAccount and to STS."
  }

  assert {
    condition     = length(aws_eks_pod_identity_association.controller) == 0
    error_message = "IRSA needs no association."
  }

  assert {
    condition     = output.service_account_annotations["eks.amazonaws.com/role-arn"] == output.role_arn
    error_message = "The ServiceAccount must be annotated with the role."
  }
}

run "names_regions_and_boundary_can_be_chosen" {
  variables {
    role_name                = "my-role"
    regions                  = ["us-east-1", "us-gov-west-1"]
    permissions_boundary_arn = "arn:aws:iam::123456789012:policy/boundary"
    tags                     = { team = "ml" }
  }

  assert {
    condition     = aws_iam_role.controller.name == "my-role"
    error_message = "role_name must be used as it is."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.read_instance_types.policy).Statement[0].Condition.StringEquals["aws:RequestedRegion"] == ["us-east-1", "us-gov-west-1"]
    error_message = "The policy must name the regions."
  }

  assert {
    condition     = aws_iam_role.controller.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary" && aws_iam_role.controller.tags.team == "ml"
    error_message = "Boundary and tags must reach the role."
  }
}

run "a_long_cluster_name_still_makes_a_role_name_that_iam_takes" {
  variables {
    cluster_name = "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789i123456789j123456789"
  }

  assert {
    condition     = length(aws_iam_role.controller.name) <= 64
    error_message = "IAM takes at most 64 characters."
  }
}

run "an_arn_is_no_cluster_name" {
  command = plan

  variables {
    cluster_name = "arn:aws:eks:eu-west-1:123456789012:cluster/demo"
  }

  expect_failures = [var.cluster_name]
}

run "names_that_kubernetes_or_aws_would_refuse_are_refused_here" {
  command = plan

  variables {
    namespace       = "My_Space"
    service_account = "GPU"
    role_name       = "has space"
    regions         = ["Ireland"]
  }

  expect_failures = [var.namespace, var.service_account, var.role_name, var.regions]
}

run "an_unknown_identity_mode_is_refused" {
  command = plan

  variables {
    identity_mode = "keys"
  }

  expect_failures = [var.identity_mode]
}

run "irsa_without_its_provider_is_refused" {
  command = plan

  variables {
    identity_mode = "irsa"
  }

  expect_failures = [var.oidc_provider_arn]
}

run "pod_identity_with_an_oidc_provider_is_refused" {
  command = plan

  variables {
    oidc_provider_arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
  }

  expect_failures = [var.oidc_provider_arn]
}
