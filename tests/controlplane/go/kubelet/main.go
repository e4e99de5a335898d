// Command kubelet is a hollow kubelet: the real kubelet code with a container
// runtime, a machine and device plugins that are only pretended.
//
// Kubernetes ships such a program (cmd/kubemark). This one differs in what the
// tests need: it can zero extended resources when it registers, as a kubelet
// does whose device manager has no checkpoint; it has a provider id and a boot
// id; and it really runs containers whose command names --run.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/spf13/pflag"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubemark"
)

func main() {
	klog.InitFlags(nil)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	o := optionsFromFlags(os.Args[1:])

	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	exitOn(err)
	// No user agent of its own: the program's name is the default, so managed fields say "kubelet", as on any node.

	kubelet(o, config).Run(context.Background())
}

func kubelet(o options, config *restclient.Config) *kubemark.HollowKubelet {
	flags, settings := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName:           o.name,
		MaxPods:            o.maxPods,
		NodeLabels:         o.labels,
		RegisterWithTaints: o.taints,
	})
	settings.ProviderID = o.providerID
	settings.NodeStatusUpdateFrequency.Duration = o.statusPeriod
	settings.SyncFrequency.Duration = time.Second
	// Nothing in the tests dials a kubelet, and no port means no port to fight for.
	settings.EnableServer = false

	client := clientset.NewForConfigOrDie(config)
	heartbeat := *config
	heartbeat.Timeout = settings.NodeStatusUpdateFrequency.Duration
	heartbeat.QPS = -1

	hollow := kubemark.NewHollowKubelet(flags, settings, client, clientset.NewForConfigOrDie(&heartbeat), newMachine(o),
		newImages(o.missingImage), newRuntime(o.run, o.runEnv), newContainerManager(o))
	// The pretended one calls every container ready, even one that crashed; without it the kubelet makes the real one.
	hollow.KubeletDeps.ProbeManager = nil
	return hollow
}

func exitOn(err error) {
	if err != nil {
		klog.ErrorS(err, "Hollow kubelet cannot start")
		klog.FlushAndExit(time.Second, 1)
	}
}
