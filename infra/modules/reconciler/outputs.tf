output "role_arn" {
  description = "ARN of the controller's role."
  value       = aws_iam_role.controller.arn
}

output "role_name" {
  description = "Name of the controller's role, to attach more to."
  value       = aws_iam_role.controller.name
}

output "service_account_annotations" {
  description = "Annotations that the controller's ServiceAccount needs: none with Pod Identity, the role with IRSA."
  value       = local.service_account_annotations
}

output "manifest_values" {
  description = "What deploy/manifests must say to match: namespace, ServiceAccount with annotations, and environment."
  value = {
    namespace = var.namespace
    service_account = {
      name        = var.service_account
      annotations = local.service_account_annotations
    }
    env = { GPU_RECONCILER_AWS__REGION = local.regions[0] }
  }
}

locals {
  service_account_annotations = local.irsa ? { "eks.amazonaws.com/role-arn" = aws_iam_role.controller.arn } : {}
}
