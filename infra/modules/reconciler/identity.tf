# IRSA needs nothing here: the ServiceAccount's annotation (output service_account_annotations) is the link.
resource "aws_eks_pod_identity_association" "controller" {
  count = local.irsa ? 0 : 1

  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = var.service_account
  role_arn        = aws_iam_role.controller.arn
  tags            = var.tags
}
