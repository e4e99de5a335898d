output "tags" {
  description = "The tags of each Auto Scaling group."
  value       = { for group, name in var.autoscaling_groups : name => lookup(var.node_group_tags, group, {}) }
}
