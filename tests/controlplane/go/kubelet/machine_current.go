//go:build !next

package main

import (
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// Kubernetes 1.36.

func (m *machine[I]) MachineInfo() (*I, error) {
	info := m.info
	return &info, nil
}

func newMachine(o options) cadvisor.Interface {
	fake := &cadvisortest.Fake{NodeName: o.name}
	info, err := fake.MachineInfo()
	exitOn(err)
	info.NumCores, info.MemoryCapacity, info.BootID = o.cores, o.memory, o.bootID
	return machineWith(fake, info)
}
