package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"divisi/internal/egress"
	"divisi/internal/sandbox/stage"
)

// way is the way of one command to the network. The stage makes the socket in the command's namespace and hands it over.
type way struct {
	proxy *egress.Proxy
	// ours and theirs are the ends of the socket over which it is handed over.
	ours, theirs *os.File
	life         context.Context //nolint:containedctx // of a goroutine that lives as long as the command
	end          context.CancelFunc
	// over gets the error that ended the proxy before the command.
	over chan error
}

func newWay(c *Command) (*way, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	own := egress.Own{Address: ownAddress, Handler: c.Own.Handler}
	w := &way{
		proxy: egress.New(c.Place.Owner.Reach, c.Hosts, c.Loopback, own), ours: ours, theirs: theirs, over: make(chan error, 1),
	}
	w.life, w.end = context.WithCancel(context.Background())
	return w, nil
}

// serve serves the command until close. A command whose way to the network is lost ends.
func (w *way) serve(p *process) {
	l, err := w.receive()
	if err == nil && l != nil {
		err = w.proxy.Serve(w.life, l)
	}
	if err != nil {
		err = fmt.Errorf("serve its way to the network: %w", err)
		p.order(stage.Kill)
	}
	w.over <- err
}

// close ends the proxy, when the command has ended.
func (w *way) close(out *Output) error {
	w.end()
	out.Refused, out.Network = w.proxy.Refused(), w.proxy.Use()
	return errors.Join(<-w.over, w.ours.Close())
}

// receive returns the listening socket; nil where the stage ended before it made one.
func (w *way) receive() (net.Listener, error) {
	conn, err := net.FileConn(w.ours)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // it carries one message
	unixConn, _ := conn.(*net.UnixConn)
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := unixConn.ReadMsgUnix(data, rights)
	if n == 0 {
		return nil, nil
	}
	var fds []int
	messages, failed := unix.ParseSocketControlMessage(rights[:got])
	if err = errors.Join(err, failed); err == nil && len(messages) == 1 {
		fds, err = unix.ParseUnixRights(&messages[0])
	}
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(err, unix.EMFILE) // the kernel drops what this process cannot open
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer f.Close() // the listener has its own copy
	return net.FileListener(f)
}
