//go:build next

package main

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// Kubernetes 1.37 and later.

func (m *machine[I]) MachineInfo(klog.Logger) (*I, error) {
	info := m.info
	return &info, nil
}

func newMachine(o options) cadvisor.Interface {
	fake := &cadvisortest.Fake{NodeName: o.name}
	info, err := fake.MachineInfo(klog.Background())
	exitOn(err)
	info.NumCores, info.MemoryCapacity, info.BootID = o.cores, o.memory, o.bootID
	return machineWith(fake, info)
}
