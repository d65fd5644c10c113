package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"divisi/bus/member"
	"divisi/internal/meter"
)

// MaxData is how many bytes one message may carry; the server's limit of 1 MiB includes headers and subject.
const MaxData = 900_000

const (
	closePatience  = 10 * time.Second
	flushPatience  = 500 * time.Millisecond
	attachPatience = 3 * time.Second
	openPatience   = 3 * time.Second  // for a server that is up but whose streams are not
	tryPatience    = 5 * time.Second  // for one answer of the server
	retryPatience  = 30 * time.Second // for one append, with all its tries, and for each stream of a cluster
)

// Options say where the bus lives. Dir or URL must be set.
type Options struct {
	// Dir contains the embedded server's store, the lock and server.json. It is made if missing. With URL it may be empty:
	// then nothing is locked and no process can attach.
	Dir string
	// URL is an external server, or several with commas between; empty starts one in this process.
	URL string
	// User and Password, or the path of a file of NATS Credentials (see IsCredentials), for URL. Those in the URL itself count
	// as well.
	User, Password, Credentials string
	// Name is that of a member of an account of URL, as the permissions of its user have it (see member.OnCluster): its inbox has
	// it, and it asks under it. Empty for who may do everything there.
	Name string
	// Login is that of a member, instead of URL and those: the server shows the certificate that it names, or is not used.
	Login *member.Login
	// Listen is where the embedded server listens. Default 127.0.0.1:0, a random port on loopback. An address that other machines
	// can reach needs Members and TLS.
	Listen string
	// Members are who may use the embedded server, beside this process and those that attach. Then they connect at Listen, and
	// TLS has the certificate that they are shown; the others connect on loopback.
	Members *member.Registry
	TLS     *tls.Config
	// WebSocket is where members connect by WebSocket too, over the same TLS; empty for not.
	WebSocket string
	// Sync makes the embedded server write each append to the disk before it is acknowledged. Default true. Without it
	// a crash of this process loses nothing, but a crash of the machine loses up to two minutes.
	Sync *bool
	// MaxStore bounds the embedded server's store in bytes. Default: what the disk has.
	MaxStore int64
	// Run is the run whose objects are put: their subjects carry it. Empty for objects that belong to no run.
	Run string
	// Replicas of each stream that is created on an external server. Default 3 on a cluster, if it has as many servers, else 1.
	Replicas int
	// Speaks is this program's version, which a member and its server compare. Met is told the version of each member that
	// connects to the embedded server, with why that does not fit, "" where it does; it must not block.
	Speaks Version
	Met    func(m member.Member, there Version, why string)
	// Log receives the server's and the connection's reports.
	Log zerolog.Logger
}

// Bus is a connection to NATS with the streams of Divisi on it. Its methods may be called by many goroutines at once.
type Bus struct {
	log      zerolog.Logger
	dir      string
	url      string
	run      string
	attached bool // to a server that ends with another process
	nc       *nats.Conn
	js       jetstream.JetStream
	lock     *dirLock  // nil unless this Bus owns dir
	rest     *rest     // what the store had before, while it is opened here
	keeper   *keeper   // nil unless the server runs here
	server   *embedded // nil unless the server runs here
	gate     *gate     // nil unless members can reach that
	files    *files    // the log, where it is read from its files
	pages    Pages     // the log, where another process shows it
	members  *member.Registry
	login    *member.Login // nil unless this Bus is that of a member of a built-in server
	speaks   Version
	unfit    atomic.Pointer[error]     // why server and program do not fit any more
	lost     atomic.Pointer[nats.Conn] // the connection, once it was lost
	name     string                    // of the member; empty for who may do everything
	cutOff   string                    // what is lost of the end of the log
	remade   string                    // why the store was made again

	events, tasks, objects, cache, leases jetstream.Stream

	tryPatience, retryPatience, silence time.Duration
	denials                             denials

	mu        sync.Mutex
	listeners map[*listener]struct{}
	pulls     map[jetstream.MessagesContext]struct{} // of the active readers

	// repairing is locked by the call that restarts the embedded server; tell is that of WaitForRoom.
	repairing chan struct{}
	tell      atomic.Pointer[func(string)]
	unstored  unstored

	spent  meter.Meter
	back   chan struct{} // closed when the connection is there again, and then another one
	backAt time.Time     // when it was there again last; zero where it was never lost
	gone   chan struct{} // closed when the connection never comes back

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
}

// Open takes the directory for this process, starts its server or connects to URL, and makes sure that streams and
// objects are there. *LockedError when another process owns the directory, ErrUnavailable when the directory cannot be
// written, the port is in use or the server cannot be reached, ErrDamaged when something of its log or its objects is lost,
// which then stays as it is for OpenFiles. The caller closes the Bus.
func Open(ctx context.Context, o Options) (*Bus, error) {
	if o.Login != nil {
		o.URL, o.Name = o.Login.URL, o.Login.Name
	}
	if o.Dir == "" && o.URL == "" {
		return nil, fmt.Errorf("%w: neither a directory nor a server address was given", ErrUnavailable)
	}
	b := &Bus{dir: o.Dir, run: o.Run, log: o.Log, login: o.Login, name: o.Name, members: o.Members, speaks: o.Speaks}
	if err := b.open(ctx, o); err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Bus) open(ctx context.Context, o Options) error {
	b.init()
	if o.Run != "" && !ValidToken(o.Run) {
		return fmt.Errorf("%w: run %q (letters, digits, - and _ only)", ErrSubject, o.Run)
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return fmt.Errorf("%w: make the state directory: %w", ErrUnavailable, err)
		}
		if err := b.take(ctx, o); err != nil {
			return err
		}
	}
	h, err := b.reach(ctx, o)
	if err != nil {
		return err
	}
	if err := b.connect(h); err != nil {
		return err
	}
	if err := b.openStreams(ctx, o.Replicas); err != nil {
		return err
	}
	b.retryPatience = retryPatience
	if b.server != nil {
		if err := b.keepCopy(); err != nil {
			return err
		}
	}
	if b.lock == nil {
		return nil
	}
	h.Run, h.PID, h.Started = o.Run, os.Getpid(), time.Now().UTC().Truncate(time.Second)
	if err := b.lock.note(h); err != nil {
		return err
	}
	return h.write(o.Dir)
}

// take locks the directory. A store that is damaged, and cannot be made again, stays as it is, lock and all: its server would cut
// off what follows the damage.
func (b *Bus) take(ctx context.Context, o Options) error {
	lock, err := awaitLock(ctx, filepath.Join(o.Dir, lockName))
	if err != nil {
		return err
	}
	if o.URL == "" {
		if err := b.mend(ctx, o); err != nil {
			return errors.Join(err, lock.release())
		}
	}
	b.lock = lock
	return lock.write(nil) // the note is of the owner before this one
}

func (b *Bus) init() {
	b.closing, b.back, b.gone = make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.repairing = make(chan struct{}, 1)
	b.listeners = map[*listener]struct{}{}
	b.pulls = map[jetstream.MessagesContext]struct{}{}
	b.tryPatience, b.retryPatience, b.silence = tryPatience, openPatience, silence
}

// reach starts the embedded server, or describes the external one.
func (b *Bus) reach(ctx context.Context, o Options) (owner, error) {
	if o.URL != "" {
		return external(o)
	}
	if err := guarded(o); err != nil {
		return owner{}, err
	}
	h, err := b.serve(o)
	if err != nil {
		return owner{}, err
	}
	if lacks := b.server.lacks(b.rest.log, b.rest.objects); lacks != "" { // how it was set up is damaged
		b.server.stop()
		if err := b.remake(ctx, o, lacks); err != nil {
			return owner{}, err
		}
		if h, err = b.serve(o); err != nil {
			return owner{}, err
		}
	}
	if o.Members != nil {
		if b.gate, err = openGate(o, b.server); err != nil {
			return owner{}, err
		}
	}
	return h, nil
}

// serve starts the embedded server.
func (b *Bus) serve(o Options) (owner, error) {
	cred := newCredential()
	e, err := startServer(o, cred)
	if err != nil {
		return owner{}, err
	}
	b.server = e
	return owner{URL: e.srv.Load().ClientURL(), User: cred.user, Password: cred.password, Embedded: true}, nil
}

// Spent returns how many calls that wait for the server were made, and how long they took together.
func (b *Bus) Spent() meter.Spent { return b.spent.Spent() }

// Back is closed when a lost connection is there again. What was on its way by then may be lost.
func (b *Bus) Back() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.back
}

// Local is who asks without a login of a member.
const Local = "local"

// Me is the name under which this process asks: that of a member, which the server vouches for, or Local.
func (b *Bus) Me() string {
	return cmp.Or(b.name, Local)
}

// Gone is closed when a lost connection never comes back: the server does not admit this login any more, or has ended with the
// process of this one. Close closes it too.
func (b *Bus) Gone() <-chan struct{} { return b.gone }

// Steady reports whether the connection is there, and was not lost for a time: who is silent then has nothing to say.
func (b *Bus) Steady(d time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nc.IsConnected() && time.Since(b.backAt) > d
}

// URL is the server's address without credentials.
func (b *Bus) URL() string { return b.url }

// MemberURL is the address that tokens have: tls:// and where members connect. It is empty without Options.Members.
func (b *Bus) MemberURL() string {
	if b.gate == nil {
		return ""
	}
	return "tls://" + b.gate.listener.Addr().String()
}

// WebSocketURL is the address of tokens for WebSocket: wss:// and where members connect. It is empty without Options.WebSocket.
func (b *Bus) WebSocketURL() string {
	if b.gate == nil || b.gate.web == nil {
		return ""
	}
	return webScheme + b.gate.web.Addr().String()
}

// Embedded reports whether the server runs in this process.
func (b *Bus) Embedded() bool { return b.server != nil }

// Close sends what is still to be sent, ends every reader and listener, stops the embedded server, removes server.json
// and gives up the directory, in three seconds at most. It may be called more than once and waits for the first call.
func (b *Bus) Close(ctx context.Context) error {
	b.closeOnce.Do(func() {
		close(b.closing)
		b.closeErr = b.shutdown(ctx)
	})
	return b.closeErr
}

func (b *Bus) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	var errs []error
	if b.rest != nil {
		errs = append(errs, b.rest.log.copy.close())
	}
	if b.files != nil {
		errs = append(errs, b.files.copy.close())
	}
	if b.lock != nil {
		errs = append(errs, removeOwner(b.dir)) // first: no new process attaches
	}
	if b.gate != nil {
		errs = append(errs, b.gate.close())
	}
	if b.nc != nil {
		errs = append(errs, b.stopListeners(ctx))
		if b.nc.IsConnected() {
			flush, cancel := context.WithTimeout(ctx, flushPatience)
			if err := b.nc.FlushWithContext(flush); err != nil {
				b.log.Debug().Err(err).Msg("control messages may be lost: the server went away while the bus was closing")
			}
			cancel()
		}
		errs = append(errs, b.keeper.close(ctx))
		b.nc.Close()
	}
	if b.server != nil {
		b.repairing <- struct{}{} // who restarts the server has seen the end, or is just done
		errs = append(errs, b.server.stopWithin(ctx, b.unlock))
	} else {
		errs = append(errs, b.unlock())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the bus: %w", err)
	}
	return nil
}

func (b *Bus) unlock() error {
	if b.lock == nil {
		return nil
	}
	return b.lock.release()
}

func (b *Bus) isClosing() bool {
	select {
	case <-b.closing:
		return true
	default:
		return false
	}
}

// pause waits for d. An error means that ctx ended or the bus is closing (stop may be nil).
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
