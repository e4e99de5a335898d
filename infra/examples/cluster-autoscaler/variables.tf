variable "region" {
  description = "Region of the Auto Scaling groups."
  type        = string
}

variable "node_group_tags" {
  description = "Tags of each node group, by a name of your choice: what gpu-reconciler asg-tags -o terraform prints."
  type        = map(map(string))

  validation {
    condition = alltrue(flatten([
      for tags in values(var.node_group_tags) : [
        for key in keys(tags) : startswith(key, "k8s.io/cluster-autoscaler/node-template/") && length(key) <= 128
      ]
    ]))
    error_message = "node_group_tags must hold tags that begin with k8s.io/cluster-autoscaler/node-template/ and have at most 128 characters."
  }
}

variable "autoscaling_groups" {
  description = "The Auto Scaling group of each node group in node_group_tags."
  type        = map(string)

  validation {
    condition     = alltrue([for group in keys(var.node_group_tags) : contains(keys(var.autoscaling_groups), group)])
    error_message = "autoscaling_groups must name the Auto Scaling group of every node group in node_group_tags."
  }
}
