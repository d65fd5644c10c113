package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"divisi/internal/testkit/fleet"
)

// cluster are the processes of a round. Where there is one server each worker reaches it through a proxy.
type cluster struct {
	*round

	addr    string
	servers []*fleet.Process // of NATS; none where the host is one
	hosts   []*fleet.Process
	workers []*fleet.Process
	proxies []*fleet.Proxy
}

// all are the processes, in the order in which they begin.
func (c *cluster) all() []*fleet.Process { return slices.Concat(c.servers, c.hosts, c.workers) }

func workerName(i int) string { return fmt.Sprintf("w%d", i) }

// startCluster starts a server on a free port, and workers.
func (r *round) startCluster(ctx context.Context, workers int) (*cluster, error) {
	addr, err := fleet.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c := &cluster{round: r, addr: addr}
	c.hosts = []*fleet.Process{r.Process(fleet.Serve, "server", "start", "--agents", "0", "--listen", c.addr)}
	if err := c.hosts[0].Start(); err != nil {
		return c, err
	}
	for i := range workers {
		if err := c.addWorker(ctx, workerName(i)); err != nil {
			return c, err
		}
	}
	for _, person := range []string{"author", "judge"} {
		if err := c.Join(ctx, "person", person, c.addr); err != nil {
			return c, err
		}
	}
	return c, c.ready(ctx)
}

// ready waits until all processes say that they serve.
func (c *cluster) ready(ctx context.Context) error {
	for _, p := range slices.Concat(c.hosts, c.workers) {
		if err := fleet.Serves(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// revive begins processes again that have ended by themselves, as the manager of a machine's services does: one that does not
// find its server when it begins ends.
func (c *cluster) revive() error {
	for _, w := range slices.Concat(c.hosts, c.workers) {
		again, err := w.Revive()
		if err != nil {
			return err
		}
		if again {
			c.notef("%s has ended by itself, and is begun again", w.Name)
		}
	}
	return nil
}

// checkLogs looks for what no process may print.
func (c *cluster) checkLogs() error {
	for _, p := range c.all() {
		said, err := os.ReadFile(p.Log())
		if err != nil {
			return err
		}
		if i := bytes.Index(said, []byte("panic")); i >= 0 {
			return fmt.Errorf("%s has failed: %.200s", p.Name, said[i:])
		}
	}
	return nil
}

func (c *cluster) addWorker(ctx context.Context, name string) error {
	p, err := fleet.NewProxy(ctx, c.addr)
	if err != nil {
		return err
	}
	c.proxies = append(c.proxies, p)
	if err := c.Join(ctx, "worker", name, p.Addr()); err != nil {
		return err
	}
	if err := c.Permit(name); err != nil {
		return err
	}
	w := c.Process(name, "server", "worker", "--on", fleet.Hub, "--agents", "3", "--gates", "1", "--grace", "5s")
	c.workers = append(c.workers, w)
	return w.Start()
}

// find returns a process by its name, and its proxy.
func (c *cluster) find(name string) (*fleet.Process, *fleet.Proxy) {
	for i, w := range c.workers {
		if w.Name == name && len(c.proxies) > 0 {
			return w, c.proxies[i]
		}
	}
	for _, p := range c.all() {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, nil
}

// endTime is how long a process may take to end in order.
const endTime = time.Minute

// end ends all processes in order, the workers first.
func (c *cluster) end() error {
	var errs []error
	for _, w := range c.workers {
		w.Signal(syscall.SIGCONT)
		w.Signal(syscall.SIGTERM) // all end at once
	}
	for _, p := range slices.Concat(c.workers, c.hosts, c.servers) {
		errs = append(errs, p.End(endTime))
	}
	c.release()
	return errors.Join(errs...)
}

// release kills what is left.
func (c *cluster) release() {
	for _, p := range c.all() {
		p.Kill()
	}
	for _, p := range c.proxies {
		p.End()
	}
	c.Sweep()
}
