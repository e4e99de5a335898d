package main

import (
	_ "k8s.io/cri-api/pkg/apis/testing"
	_ "k8s.io/cri-client/pkg"
	_ "k8s.io/cri-client/pkg/fake"
	_ "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	_ "k8s.io/kubernetes/pkg/kubelet/cm"
	_ "k8s.io/kubernetes/pkg/kubemark"
)

func main() {}
