package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cliflag "k8s.io/component-base/cli/flag"
	utilflag "k8s.io/kubernetes/pkg/util/flag"
)

// options is what the command line says about the node to play.
type options struct {
	name, kubeconfig, providerID, bootID string
	labels                               map[string]string
	taints                               []v1.Taint
	cores, maxPods                       int
	memory                               uint64
	devices                              v1.ResourceList
	reset                                bool
	pluginFolder, missingImage           string
	run, runEnv                          []string
	statusPeriod                         time.Duration
}

func optionsFromFlags(args []string) options {
	o := options{labels: map[string]string{}, devices: v1.ResourceList{}}
	devices := map[string]string{}
	labels := cliflag.ConfigurationMap(o.labels)
	resources := cliflag.ConfigurationMap(devices)
	memory := ""

	f := pflag.CommandLine
	f.StringVar(&o.name, "name", "", "name of the node")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	f.StringVar(&o.providerID, "provider-id", "", "spec.providerID of the node")
	f.StringVar(&o.bootID, "boot-id", "", "status.nodeInfo.bootID of the node")
	f.Var(&labels, "node-labels", "labels of the node, a=b,c=d")
	f.Var(utilflag.RegisterWithTaintsVar{Value: &o.taints}, "register-with-taints", "taints, key=value:Effect,...")
	f.IntVar(&o.cores, "cpu", 4, "cores of the node")
	f.StringVar(&memory, "memory", "16Gi", "memory of the node")
	f.IntVar(&o.maxPods, "max-pods", 110, "pods the node takes")
	f.Var(&resources, "extended-resources", "what device plugins advertise, a/b=1,c/d=2")
	f.BoolVar(&o.reset, "reset-extended-resources", false,
		"at registration zero all extended resources, as a kubelet without a device checkpoint does")
	f.StringVar(&o.pluginFolder, "device-plugins", "",
		"folder of the device manager's sockets and checkpoint, and of plugins.json, which says what plugins serve")
	f.StringSliceVar(&o.run, "run", nil, "really run containers whose command has one of these words")
	f.StringArrayVar(&o.runEnv, "run-env", nil, "KEY=VALUE added to the environment of such containers")
	f.StringVar(&o.missingImage, "missing-image", "", "images whose name holds this text cannot be pulled")
	f.DurationVar(&o.statusPeriod, "status-period", 10*time.Second, "how often the node status is computed")
	exitOn(f.Parse(args))

	size := resource.MustParse(memory)
	o.memory = uint64(size.Value())
	for name, amount := range devices {
		o.devices[v1.ResourceName(name)] = resource.MustParse(amount)
	}
	return o
}

func contains(text, part string) bool { return part != "" && strings.Contains(text, part) }
