package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"divisi/bus/member"
)

// cluster are the processes of a round. Where there is one server each worker reaches it through a proxy.
type cluster struct {
	*round

	addr    string
	servers []*process // of NATS; none where the host is one
	hosts   []*process
	workers []*process
	proxies []*proxy
}

// all are the processes, in the order in which they begin.
func (c *cluster) all() []*process { return slices.Concat(c.servers, c.hosts, c.workers) }

// hub is what the members call the server.
const hub = "hub"

func workerName(i int) string { return fmt.Sprintf("w%d", i) }

// startCluster starts a server on a free port, and workers.
func (r *round) startCluster(ctx context.Context, workers int) (*cluster, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cluster{round: r, addr: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	c.hosts = []*process{r.process("serve", "serve", "--agents", "0", "--listen", c.addr)}
	if err := c.hosts[0].start(); err != nil {
		return c, err
	}
	for i := range workers {
		if err := c.addWorker(ctx, workerName(i)); err != nil {
			return c, err
		}
	}
	for _, person := range []string{"author", "judge"} {
		if err := c.join(ctx, "person", person, c.addr); err != nil {
			return c, err
		}
	}
	return c, c.ready(ctx)
}

// ready waits until all processes say that they serve.
func (c *cluster) ready(ctx context.Context) error {
	for _, p := range slices.Concat(c.hosts, c.workers) {
		if err := c.serves(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// revive begins processes again that have ended by themselves, as the manager of a machine's services does: one that does not
// find its server when it begins ends.
func (c *cluster) revive() error {
	for _, w := range slices.Concat(c.hosts, c.workers) {
		again, err := w.revive()
		if err != nil {
			return err
		}
		if again {
			c.notef("%s has ended by itself, and is begun again", w.name)
		}
	}
	return nil
}

// checkLogs looks for what no process may print.
func (c *cluster) checkLogs() error {
	for _, p := range c.all() {
		said, err := os.ReadFile(p.log())
		if err != nil {
			return err
		}
		if i := bytes.Index(said, []byte("panic")); i >= 0 {
			return fmt.Errorf("%s has failed: %.200s", p.name, said[i:])
		}
	}
	return nil
}

func (c *cluster) addWorker(ctx context.Context, name string) error {
	p, err := newProxy(ctx, c.addr)
	if err != nil {
		return err
	}
	c.proxies = append(c.proxies, p)
	if err := c.join(ctx, "worker", name, p.addr()); err != nil {
		return err
	}
	w := c.process(name, "worker", "--on", hub, "--agents", "3", "--gates", "1", "--grace", "5s")
	c.workers = append(c.workers, w)
	return w.start()
}

func (r *round) process(name string, args ...string) *process {
	args = append(args, "--state-dir", filepath.Join(r.dir, name), "--log-level", "info")
	return &process{name: name, dir: r.dir, divisi: r.divisi, env: r.env, args: args}
}

// join makes a state directory a member of the server, which it reaches at an address.
func (c *cluster) join(ctx context.Context, role, name, addr string) error {
	var reply struct {
		Token string `json:"token"`
	}
	var data []byte
	err := c.again(ctx, 20*time.Second, func() (err error) { // the server may still be starting
		data, err = c.command(ctx, "serve", "serve", "token", "--role", role, "--name", name)
		return err
	})
	if err == nil {
		err = json.Unmarshal(data, &reply)
	}
	if err != nil {
		return err
	}
	token, err := member.ParseToken(reply.Token)
	if err != nil {
		return err
	}
	token.URL = "tls://" + addr
	file := filepath.Join(c.dir, name+".token")
	if err := os.WriteFile(file, []byte(token.String()), 0o600); err != nil {
		return err
	}
	_, err = c.command(ctx, name, "join", file, "--as", hub, "--name", name)
	return err
}

// find returns a process by its name, and its proxy.
func (c *cluster) find(name string) (*process, *proxy) {
	for i, w := range c.workers {
		if w.name == name && len(c.proxies) > 0 {
			return w, c.proxies[i]
		}
	}
	for _, p := range c.all() {
		if p.name == name {
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
		w.signal(syscall.SIGCONT)
		w.signal(syscall.SIGTERM) // all end at once
	}
	for _, p := range slices.Concat(c.workers, c.hosts, c.servers) {
		errs = append(errs, p.end(endTime))
	}
	c.release()
	return errors.Join(errs...)
}

// release kills what is left.
func (c *cluster) release() {
	for _, p := range c.all() {
		p.kill()
	}
	for _, p := range c.proxies {
		p.end()
	}
	sweep(c.dir)
}
