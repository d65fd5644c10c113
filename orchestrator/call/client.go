package call

import (
	"encoding/json"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// How often a client makes each of its calls.
const (
	burst = 2000
	every = 5 * time.Millisecond
)

// These are the calls of clients to the host on a server. Head has the run, and of Diff and Context the attempt.
var (
	// HostList lists the runs that were submitted, the newest first.
	HostList = Kind[Listing, Listed]{"list", Viewer, 4 * kib, burst, every}
	// HostSummary reports how a run stands, HostLook whether it is conducted and what was submitted and published.
	HostSummary = Kind[None, Summary]{"summary", Viewer, 4 * kib, burst, every}
	HostLook    = Kind[None, Looked]{"look", Viewer, 4 * kib, burst, every}
	// HostDecisions lists what is open: what blocks most first.
	HostDecisions = Kind[None, view.Named]{"decisions", Viewer, 4 * kib, burst, every}
	// HostDiff is Run.Diff, HostContext is Run.Context.
	HostDiff    = Kind[Diff, json.RawMessage]{"diff", Viewer, 4 * kib, burst, every}
	HostContext = Kind[ContextView, []byte]{"context", Reader, 4 * kib, burst, every}
	// HostLog shows a page of the log from a position on; there is no more where it is empty.
	HostLog = Kind[From, []Shown]{"log", LogViewer, 4 * kib, burst, every}
	// HostHave tells what the host has of a repository, for an order to come. HostStart begins the run of one, by the name of its
	// object.
	HostHave  = Kind[Having, Has]{"have", Reader, bus.MaxData, burst, every}
	HostStart = Kind[string, None]{"start", Actor, 4 * kib, burst, every}
	// HostCommit packs what has landed, HostFetched notes that a person has published a commit.
	HostCommit  = Kind[Landed, Pack]{"commit", Reader, 4 * kib, burst, every}
	HostFetched = Kind[string, None]{"fetched", Actor, 4 * kib, burst, every}
	// HostBase packs what comes with the order of a run, for a host that stands by.
	HostBase   = Kind[Base, Pack]{"base", Actor, 4 * kib, burst, every}
	HostResume = Kind[Resumption, None]{"resume", Actor, 64 * kib, burst, every}
	// HostRemove removes a run; one whose branch no person has published only where the body is true.
	HostRemove     = Kind[bool, Removed]{"remove", Actor, 4 * kib, burst, every}
	HostQuarantine = Kind[Quarantine, Isolated]{"quarantine", Actor, 4 * kib, burst, every}
)

// ConductorAct has something done to a run, by its conductor or, where none conducts it, by its host. It returns what becomes of
// it.
var ConductorAct = Kind[act.Request, act.Outcome]{"act", Actor, bus.MaxData, burst, every}

// These are the calls of the operator to the process of a server: tokens, and to change who may use the server.
var (
	KeeperToken = Kind[TokenOptions, string]{"token", Operator, 64 * kib, burst, every}
	// KeeperLink is for a visitor of the page, a person or a viewer.
	KeeperLink = Kind[TokenOptions, string]{"link", Operator, 64 * kib, burst, every}
	// KeeperRotate makes a token that gives a member another key; KeeperRevoke ends a member or a token.
	KeeperRotate  = Kind[Rotation, string]{"rotate", Operator, 4 * kib, burst, every}
	KeeperRevoke  = Kind[string, None]{"revoke", Operator, 4 * kib, burst, every}
	KeeperMembers = Kind[None, Members]{"members", Operator, 4 * kib, burst, every}
)

// These are the calls of a person to a worker, which answers in a sentence, with its next presence: it may publish to no inbox.
var (
	WorkerDrain  = Kind[None, string]{"drain", Actor, 4 * kib, burst, every}
	WorkerPause  = Kind[Pause, string]{"pause", Actor, 4 * kib, burst, every}
	WorkerResume = Kind[None, string]{"resume", Actor, 4 * kib, burst, every}
)

// Listing asks how the runs stand too.
type Listing struct {
	Stands bool `json:"stands,omitempty"`
}

// Listed are the ids of runs, and how they stand.
type Listed struct {
	Runs   []string            `json:"runs,omitempty"`
	Stands map[string]Standing `json:"stands,omitempty"`
}

// Standing is the status of a run without its log: Mark is another one where it may stand otherwise, Active reports that a
// process has it.
type Standing struct {
	Mark   string `json:"mark"`
	Active bool   `json:"active,omitempty"`
}

// Summary is how a run stands.
type Summary struct {
	State   string          // in one word; killed where it has not ended and no process carries it out
	Report  json.RawMessage // as `show` prints it
	Problem string          // why no process can continue one that was killed: damaged or unreadable; "" for none
	// Unfetched reports that the run was submitted, and that no person has published its branch into a repository since it ended.
	Unfetched bool
}

// Looked is a host's knowledge of a run: whether it conducts it, the commit that a person has published last, what the run was
// submitted with.
type Looked struct {
	Active  bool   `json:"active,omitempty"`
	Fetched string `json:"fetched,omitempty"`
	Order   string `json:"order,omitempty"`
}

// Diff asks for the size of each file instead of the patch.
type Diff struct {
	Stat bool `json:"stat,omitempty"`
}

// ContextView chooses what Run.Context shows: a turn, 0 for the newest, as it was compiled or Raw as the service was sent it; or
// the Sizes of its parts; or what changed between the turns From and To, where they are set; or Compactions. Text is for people;
// else it is JSON.
type ContextView struct {
	Turn, From, To                int
	Raw, Sizes, Compactions, Text bool
}

// From is a position in a log.
type From struct {
	From uint64 `json:"from"`
}

// Shown is a message of the log as a viewer is shown it.
type Shown struct {
	Subject string          `json:"subject"`
	Pos     uint64          `json:"pos"`
	Time    time.Time       `json:"time"`
	Events  json.RawMessage `json:"events"`
}

// Having is about an order to come: its Base, Name, Roots and Warrant. Commit is what is to be sent, of a submodule too, Past the
// cut of a history instead, Contents are what Git LFS keeps.
type Having struct {
	Commit      string         `json:"commit"`
	Base        string         `json:"base"`
	Name        string         `json:"name"`
	Roots       []string       `json:"roots,omitempty"`
	Warrant     *wire.Warrant  `json:"warrant,omitempty"`
	Module      string         `json:"module,omitempty"`
	Past        string         `json:"past,omitempty"`
	Contents    []spec.Pointer `json:"contents,omitempty"`
	Environment *Environment   `json:"environment,omitempty"`
}

// Has is the part that a host has.
type Has struct {
	Commits     []string       `json:"commits,omitempty"`
	Contents    []spec.Pointer `json:"contents,omitempty"`
	Environment bool           `json:"environment,omitempty"`
}

// Environment is an environment that was taken from a checkout, as an order names it: Content is the digest of what it has,
// Object the sealed object of the cache, of Size bytes, unless the host has it.
type Environment struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Object  string `json:"object,omitempty"`
	Size    int64  `json:"size,omitempty"`
}

// Landed is a commit that has landed, for a repository that has another one.
type Landed struct {
	Commit string `json:"commit"`
	Have   string `json:"have"`
}

// Base came with an order: the base commit, that of its submodule at the place Module, the history with a cut, what Git LFS
// keeps, or the environment.
type Base struct {
	Commit      string        `json:"commit,omitempty"`
	Module      string        `json:"module,omitempty"`
	Past        string        `json:"past,omitempty"`
	Content     *spec.Pointer `json:"content,omitempty"`
	Environment *Environment  `json:"environment,omitempty"`
}

// Resumption says how a run goes on. For is the visitor of the page for whom the server itself asks: of a member it is ignored.
// Warrant is the signature of who resumes it; nil for who has no login.
type Resumption struct {
	For             string        `json:"for,omitempty"`
	Warrant         *wire.Warrant `json:"warrant,omitempty"`
	Budget          *spec.Budget  `json:"budget,omitempty"`
	AllowUnverified bool          `json:"allow_unverified,omitempty"`
	AllowUnread     bool          `json:"allow_unread,omitempty"`
}

// Removed is a run, or a directory, that was removed.
type Removed struct {
	What               string // the id of the run, or the directory
	Bytes, ServerBytes uint64
	OnServer           bool     // it has data on a NATS server too, whose size a preview does not know
	Repo               string   // has the branches
	Branches           []string // of the run, which stay
}

// Quarantine is a worker, and from when on what it alone has proven does not count.
type Quarantine struct {
	Worker string    `json:"worker"`
	Since  time.Time `json:"since"`
}

// Isolated is the result of the quarantine of a worker: whether the server admits it no more, and what follows in the runs that
// it has worked for, the newest first.
type Isolated struct {
	Worker  string        `json:"worker"`
	Revoked bool          `json:"revoked"`
	Runs    []IsolatedRun `json:"runs,omitempty"`
}

// IsolatedRun is the consequence for one run, in a sentence; Error is why it is not in quarantine there.
type IsolatedRun struct {
	Run   string `json:"run"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// TokenOptions describe the member that a token admits: a worker, a person or a viewer, under a name that may be empty. It admits
// Uses members, 0 for one, for Life, 0 for ten minutes; workers have the Tags, and a viewer with Raw reads what commands printed.
// With WebSocket it has that address of the server.
type TokenOptions struct {
	Role      string        `json:"role,omitempty"`
	Name      string        `json:"name,omitempty"`
	WebSocket bool          `json:"websocket,omitempty"`
	Uses      int           `json:"uses,omitempty"`
	Life      time.Duration `json:"life,omitempty"`
	Tags      []string      `json:"tags,omitempty"`
	Raw       bool          `json:"raw,omitempty"`
}

// Rotation names a member, and whether its token has the address for WebSocket.
type Rotation struct {
	Name      string `json:"name"`
	WebSocket bool   `json:"websocket,omitempty"`
}

// Pause is for how long a worker takes nothing more.
type Pause struct {
	For time.Duration `json:"for_ns"`
}

// Members are the members of a server, and the end of its certificate.
type Members struct {
	All  []Credential `json:"all,omitempty"`
	Ends time.Time    `json:"ends,omitzero"`
}

// Credential is a member of a server, or a token that can still be used, which has an end and a number of uses.
type Credential struct {
	Name   string    `json:"name"`
	Role   string    `json:"role"`
	Tags   []string  `json:"tags,omitempty"`
	Raw    bool      `json:"raw,omitempty"` // it reads what commands printed, as a viewer may who was granted it
	Joined time.Time `json:"joined,omitzero"`
	// Key is the public key of a member.
	Key string `json:"key,omitempty"`
	// Connections counts those that the member has open.
	Connections int `json:"connections"`
	// For is the only name that a token admits; Uses is how many members it still does, until Ends.
	For  string    `json:"for,omitempty"`
	Uses int       `json:"uses,omitempty"`
	Ends time.Time `json:"ends,omitzero"`
}
