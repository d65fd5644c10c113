package gocache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// patience bounds one exchange with a Lender. Who waited that long for nothing asks no more.
const patience = 10 * time.Second

// Lender answers, on a unix socket, for single entries of the user's build cache. A command that can connect to it cannot list
// that cache: it must know the digest of an action, and with it all that the action read.
type Lender struct {
	// Socket is its path.
	Socket string
	// Asked and Lent count the entries that it was asked for and had. They may be read after Close.
	Asked, Lent int

	from   directory
	at     *os.File
	listen net.Listener
	ended  chan struct{}
}

// Lend serves a build cache until Close, on a socket in dir. The cache need not exist, and may change at any time.
func Lend(ctx context.Context, builds, dir string) (*Lender, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lend the build cache: %w", err)
	}
	l := &Lender{Socket: filepath.Join(dir, "go-cache"), from: directory(builds), at: at, ended: make(chan struct{})}
	// The path of a socket must be short, and dir may be long.
	socket := fmt.Sprintf("/proc/self/fd/%d/go-cache", at.Fd())
	if l.listen, err = (&net.ListenConfig{}).Listen(ctx, "unix", socket); err == nil {
		// The directories above keep other users out, and a command may be another user than Divisi.
		err = os.Chmod(l.Socket, 0o777) //nolint:gosec // see above
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lend the build cache: %w", err), at.Close())
	}
	go l.serve()
	return l, nil
}

// Close ends it, and returns when no exchange is under way.
func (l *Lender) Close() error {
	err := l.listen.Close()
	<-l.ended
	return errors.Join(err, l.at.Close())
}

// serve answers one connection after the other, so that a command that opens many holds only its own. It ends when it cannot
// listen any more: a connection is refused then at once, and the one that asks compiles.
func (l *Lender) serve() {
	defer close(l.ended)
	for {
		conn, err := l.listen.Accept()
		if err != nil {
			_ = l.listen.Close() // it may be closed already
			return
		}
		l.Asked++
		if l.answer(conn) == nil { // else the one that asks notices what is missing
			l.Lent++
		}
		_ = conn.Close() // it carried all that it could
	}
}

// answer sends an entry with its output, as they are: the digest is checked where they arrive.
func (l *Lender) answer(conn net.Conn) error {
	var action id
	err := conn.SetDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = io.ReadFull(conn, action[:])
	}
	if err != nil {
		return err
	}
	e, err := l.from.entry(action)
	if err != nil {
		return err
	}
	f, size, err := open(l.from.file(e.output, "d"))
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	if size != e.size {
		return errEntry // most outputs that are being written are found out here
	}
	if _, err = io.WriteString(conn, e.line(action)); err == nil {
		_, err = io.Copy(conn, f)
	}
	return err
}

// borrow copies an entry from a Lender into a directory, and returns it with the copy of its output.
func (d directory) borrow(action id, socket string) (entry, string, error) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(context.Background(), "unix", socket)
	if err != nil {
		return entry{}, "", err
	}
	defer conn.Close() // all of it was read
	err = conn.SetDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = conn.Write(action[:])
	}
	if err != nil {
		return entry{}, "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return entry{}, "", err
	}
	e, err := parseEntry(action, line)
	if err != nil {
		return e, "", err
	}
	path, err := d.put(action, e, r)
	return e, path, err
}
