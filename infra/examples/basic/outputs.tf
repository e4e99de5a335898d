output "role_arn" {
  description = "ARN of the controller's role."
  value       = module.gpu_reconciler.role_arn
}

output "manifest_values" {
  description = "What the manifests must say to match."
  value       = module.gpu_reconciler.manifest_values
}
