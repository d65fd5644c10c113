package member

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"divisi/internal/lazyregexp"
)

const (
	maxLine = 4096 // of the server, too
	maxSent = 1 << 20
	// maxListens bounds the subscriptions of one connection.
	maxListens = 1000
)

// ErrRefused reports that a client sent what no member may send. Its connection is cut.
var ErrRefused = errors.New("refused")

// inbox is where a member may have answers sent.
var inbox = lazyregexp.New(`^_(INBOX|JOIN)_[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// Watch is told what a client says, before the server has it.
type Watch interface {
	// Connect is told which key the client says that it has, and the name of its connection. Nothing proves that yet: see Told.
	Connect(key, name string)
	// Announced is told of a message before it is read, and waits until the client was let in. An error cuts the connection.
	Announced(subject string, size int) error
	// Publish is told a message of the client, and of how many bytes it is. It reports whether the server is to have it; an error
	// cuts the connection.
	Publish(subject, reply string, content []byte, size int) (pass bool, err error)
}

// Told is told what the server says, before the client has it.
type Told interface {
	// Proven is told, perhaps often, that the server has let the client in. The client is told of an error, which is the end.
	Proven() error
	// Deliver is told a task, and where it is answered. It reports whether the client is to have it.
	Deliver(subject, answers string) (pass bool)
}

// forwarding is one connection on its way to the server.
type forwarding struct {
	to        io.Writer
	from      *bufio.Reader
	watch     Watch
	connected bool
	listens   map[string]bool // by the client's numbers: it may end them itself
}

// Forward copies what a client sends to a server until its end, and refuses what permissions cannot: the server itself publishes
// its answers, with all rights, wherever a request wants them, and so do consumers that push. A member could have the answer to
// what it may read published as an event of the conductor, or as a call that removes a stream. Every line is rewritten, so
// that the server reads what was checked.
func Forward(to io.Writer, from io.Reader, w Watch) error {
	f := forwarding{to: to, from: bufio.NewReaderSize(from, maxLine), watch: w, listens: map[string]bool{}}
	for {
		line, err := f.from.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: a line does not end: %w", ErrRefused, err)
		}
		text, whole := strings.CutSuffix(string(line), "\r\n")
		if !whole || strings.ContainsAny(text, "\r\x00") {
			return fmt.Errorf("%w: a line does not end well", ErrRefused)
		}
		if err := f.line(text); err != nil {
			return err
		}
	}
}

// line copies one line with what belongs to it.
func (f *forwarding) line(text string) error {
	args := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' })
	if len(args) == 0 {
		return fmt.Errorf("%w: an empty line", ErrRefused)
	}
	args[0] = strings.ToUpper(args[0])
	var payload []byte
	pass := true
	switch op, n := args[0], len(args); {
	case op == "CONNECT" && n > 1:
		_, settings, _ := strings.Cut(strings.TrimLeft(text, " \t"), " ")
		if err := f.connect(settings); err != nil {
			return err
		}
		args = []string{op, settings}
	case (op == "PING" || op == "PONG") && n == 1:
	case !f.connected:
		return fmt.Errorf("%w: %.20q comes before who connects", ErrRefused, text)
	case op == "SUB" && (n == 3 || n == 4):
		if f.listens[args[n-1]] = true; len(f.listens) > maxListens {
			return fmt.Errorf("%w: more than %d subscriptions", ErrRefused, maxListens)
		}
	case op == "UNSUB" && n == 2:
		delete(f.listens, args[1])
	case op == "UNSUB" && n == 3: // after so many messages: it counts until then
	case op == "PUB" && (n == 3 || n == 4), op == "HPUB" && (n == 4 || n == 5):
		var err error
		if payload, pass, err = f.published(args); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: the line begins with %.20q", ErrRefused, text)
	}
	if !pass {
		return nil
	}
	_, err := f.to.Write(slices.Concat([]byte(strings.Join(args, " ")+"\r\n"), payload))
	return err
}

// connect tells the watch who connects, as the server reads it. A connection has one user.
func (f *forwarding) connect(settings string) error {
	var o server.ClientOpts
	if err := json.Unmarshal([]byte(settings), &o); err != nil || f.connected {
		return fmt.Errorf("%w: who connects cannot be read, or connects again (%w)", ErrRefused, err)
	}
	f.connected = true
	f.watch.Connect(o.Nkey, o.Name)
	return nil
}

// published reads the content of a message, which ends in CR LF, and checks where its answer goes. pass reports whether the
// server is to have it.
func (f *forwarding) published(args []string) (data []byte, pass bool, err error) {
	header, sizes := 0, 1
	if args[0] == "HPUB" {
		sizes = 2
	}
	rest := args[2:]
	if !literal(args[1]) {
		return nil, false, fmt.Errorf("%w: a message to %.200q, which is no one place", ErrRefused, args[1])
	}
	reply := strings.Join(rest[:len(rest)-sizes], " ")
	if reply != "" && !inbox.MatchString(reply) {
		return nil, false, fmt.Errorf("%w: the answer to %.200q goes to %.200q, which is no inbox", ErrRefused, args[1], reply)
	}
	size, err := sizeOf(rest[len(rest)-1])
	if err == nil && sizes == 2 {
		header, err = sizeOf(rest[len(rest)-2])
	}
	if err != nil || header > size {
		return nil, false, fmt.Errorf("%w: the size of a message is %q", ErrRefused, rest)
	}
	if err := f.watch.Announced(args[1], size); err != nil {
		return nil, false, err
	}
	data = make([]byte, size+2)
	if _, err := io.ReadFull(f.from, data); err != nil {
		return nil, false, fmt.Errorf("read a message: %w", err)
	}
	if !bytes.HasSuffix(data, []byte("\r\n")) {
		return nil, false, fmt.Errorf("%w: a message does not end well", ErrRefused)
	}
	content := data[header:size]
	if err := errors.Join(pulls(args[1], content), named(args[1], content), sums(args[1], content)); err != nil {
		return nil, false, err
	}
	pass, err = f.watch.Publish(args[1], reply, content, size)
	return data, pass, err
}

// literal reports whether a subject is one place: the server would store what is published to ev.* as such.
func literal(subject string) bool {
	return strings.HasPrefix(subject, "$") || !slices.ContainsFunc(strings.Split(subject, "."), func(t string) bool {
		return t == "" || t == "*" || t == ">"
	})
}

// named refuses to look for objects: their names have digests, and who was not told a name reads nothing.
func named(subject string, data []byte) error {
	for _, stream := range []string{"OBJ", "CACHE"} {
		if at, ok := strings.CutPrefix(subject, api+"DIRECT.GET."+stream+"."); ok && strings.ContainsAny(at, "*>") {
			return fmt.Errorf("%w: %.200q names no object", ErrRefused, at)
		}
		if subject == api+"STREAM.INFO."+stream && len(data) > 0 {
			return fmt.Errorf("%w: a list of what stream %s has", ErrRefused, stream)
		}
	}
	return nil
}

// sums refuses to have positions listed that no message has: the server would make the list in memory, however many they are.
func sums(subject string, data []byte) error {
	var request server.JSApiStreamInfoRequest
	if !strings.HasPrefix(subject, api+"STREAM.INFO.") || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, &request); err != nil {
		return fmt.Errorf("%w: the request to %.200q cannot be read: %w", ErrRefused, subject, err)
	}
	if request.DeletedDetails {
		return fmt.Errorf("%w: %.200q asks for a list of free positions", ErrRefused, subject)
	}
	return nil
}

// pulls refuses to make a consumer that pushes.
func pulls(subject string, data []byte) error {
	if !strings.HasPrefix(subject, api+"CONSUMER.") || strings.HasPrefix(subject, api+"CONSUMER.MSG.") || len(data) == 0 {
		return nil
	}
	var request server.CreateConsumerRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return fmt.Errorf("%w: the request to %.200q cannot be read: %w", ErrRefused, subject, err)
	}
	c := request.Config
	switch {
	case c.DeliverSubject != "":
		return fmt.Errorf("%w: a consumer pushes to %.200q: pull instead", ErrRefused, c.DeliverSubject)
	case !strings.HasPrefix(subject, api+"CONSUMER.CREATE.EV."):
	case c.Durable != "" || !c.MemoryStorage || c.AckPolicy != server.AckNone || c.InactiveThreshold > maxIdle:
		return fmt.Errorf("%w: a reader of the log that the server would keep for longer than %s", ErrRefused, maxIdle)
	}
	return nil
}

// maxIdle is how long the server may keep the place of a reader that went away.
const maxIdle = time.Minute

func sizeOf(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n > maxSent || s[0] == '+' {
		return 0, fmt.Errorf("%w: %q is no size", ErrRefused, s)
	}
	return int(n), nil
}

// Greet copies the line by which a server greets, and says in it that the connection has TLS: the server does not know. It leaves
// out where else the server could be reached.
func Greet(to io.Writer, from *bufio.Reader) error {
	line, err := from.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read how the server greets: %w", err)
	}
	text, ours := strings.CutPrefix(line, "INFO ")
	info := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &info); !ours || err != nil {
		return fmt.Errorf("the server greets with %.80q: %w", line, err)
	}
	delete(info, "connect_urls")
	info["tls_required"] = json.RawMessage("true")
	data, err := json.Marshal(info)
	if err == nil {
		_, err = fmt.Fprintf(to, "INFO %s\r\n", data)
	}
	return err
}
