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

	"divisi/internal/testkit/fleet"
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
		c.hosts = append(c.hosts, r.Process(hostName(i), "server", "start", "--agents", "0", "--nats", r.on))
	}
	for i := range workers {
		if err := c.Permit(workerName(i)); err != nil {
			return c, err
		}
		c.workers = append(c.workers, r.Process(workerName(i), "server", "worker", "--nats", r.on, "--name", workerName(i),
			"--agents", "3", "--gates", "1", "--grace", "5s"))
	}
	for _, p := range append(c.hosts, c.workers...) {
		if err := p.Start(); err != nil {
			return c, err
		}
		if err := fleet.Serves(ctx, p); err != nil {
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
		s := natsSpec{Name: natsName(i), Dir: filepath.Join(c.Dir, natsName(i))}
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
		p := &fleet.Process{Name: s.Name, Dir: c.Dir, Program: program, Env: c.Env, Args: []string{"-nats", string(text)}}
		c.servers = append(c.servers, p)
		if err := p.Start(); err != nil {
			return err
		}
	}
	return fleet.Again(ctx, fleet.CommandTime, func() error { return elected(c.servers) })
}

// elected reports whether the servers of a cluster have a leader, so that streams can be made.
func elected(all []*fleet.Process) error {
	for _, p := range all {
		said, err := os.ReadFile(p.Log())
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
	addr, err := fleet.FreeAddr(ctx)
	if err != nil {
		return 0, err
	}
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}
