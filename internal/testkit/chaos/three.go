package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// servers is how many servers a cluster has.
const servers = 3

// natsSpec is one of them.
type natsSpec struct {
	Name    string   `json:"name"`
	Port    int      `json:"port"`
	Cluster int      `json:"cluster"`
	Routes  []string `json:"routes"`
	Dir     string   `json:"dir"`
}

// serveNATS is a server of a cluster, until it is told to end.
func serveNATS(text string) int {
	var s natsSpec
	err := json.Unmarshal([]byte(text), &s)
	o := server.Options{
		ServerName: s.Name, Host: "127.0.0.1", Port: s.Port, NoSigs: true, JetStream: true, StoreDir: s.Dir, SyncAlways: true,
		JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20,
		Cluster: server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: s.Cluster},
	}
	for _, r := range s.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	var n *server.Server
	if err == nil {
		n, err = server.NewServer(&o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n.ConfigureLogger()
	n.Start()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	n.Shutdown()
	n.WaitForShutdown()
	return 0
}

// startThree starts three servers as a cluster, two hosts, and workers. One host conducts. All reach the servers as they are.
func (r *round) startThree(ctx context.Context, workers int) (*cluster, error) {
	c := &cluster{round: r}
	if err := c.startServers(ctx); err != nil {
		return c, err
	}
	for i := range 2 {
		c.hosts = append(c.hosts, r.process(hostName(i), "serve", "--agents", "0", "--nats", r.on))
	}
	for i := range workers {
		c.workers = append(c.workers, r.process(workerName(i), "worker", "--nats", r.on, "--name", workerName(i), "--agents", "3",
			"--gates", "1", "--grace", "5s"))
	}
	for _, p := range append(c.hosts, c.workers...) {
		if err := p.start(); err != nil {
			return c, err
		}
		if err := c.serves(ctx, p); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *cluster) startServers(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var urls, routes []string
	var specs []natsSpec
	for i := range servers {
		s := natsSpec{Name: natsName(i), Dir: filepath.Join(c.dir, natsName(i))}
		for _, port := range []*int{&s.Port, &s.Cluster} {
			if *port, err = freePort(ctx); err != nil {
				return err
			}
		}
		urls = append(urls, "nats://127.0.0.1:"+strconv.Itoa(s.Port))
		routes = append(routes, "127.0.0.1:"+strconv.Itoa(s.Cluster))
		specs = append(specs, s)
	}
	c.on = strings.Join(urls, ",")
	for _, s := range specs {
		s.Routes = routes
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		p := &process{name: s.Name, dir: c.dir, divisi: program, env: c.env, args: []string{"-nats", string(text)}}
		c.servers = append(c.servers, p)
		if err := p.start(); err != nil {
			return err
		}
	}
	return c.again(ctx, commandTime, func() error { return elected(c.servers) })
}

// elected reports whether the servers of a cluster have a leader, so that streams can be made.
func elected(all []*process) error {
	for _, p := range all {
		said, err := os.ReadFile(p.log())
		if err != nil {
			return err
		}
		if strings.Contains(string(said), "JetStream cluster new metadata leader") {
			return nil
		}
	}
	return errors.New("the servers have no leader yet")
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0, err
	}
	return port, l.Close()
}

// serves waits until a process says that it serves.
func (c *cluster) serves(ctx context.Context, p *process) error {
	return c.again(ctx, commandTime, func() error {
		said, err := os.ReadFile(p.log())
		if err == nil && !strings.Contains(string(said), "serv") {
			err = fmt.Errorf("%s does not serve yet: %s", p.name, said)
		}
		return err
	})
}
