package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Agents are those of the run: their attempts, what they ask, are told and use, and what was decided.
type Agents struct {
	// Works are the attempts of everything that was ever on the queue, by queue id. Queue are the works that have not ended.
	Works Works
	Queue Queue
	// Epoch counts the conductors; Began is the position of the event with which the present one began.
	Epoch    int
	Began    uint64
	Requests Requests
	Messages Messages
	Master   Master
	// Decisions are the answers to decisions, Standing those that stand for later decisions too.
	Decisions Decisions
	Standing  StandingAnswers
	// Unlike are, by task, edits that landed and turned out to be made by no other shard.
	Unlike map[string][]Unlike
	// Later are the tasks that wait for what their commands need before these run once more, by id, each since when.
	Later  map[string]time.Time
	Budget spec.Budget
	Usage  spec.Usage
	// Booked is the money of the calls, as a run with a budget in money books it. Spent is the use of each worker, with what its
	// calls under way have reserved: Reserved for all workers.
	Booked   spec.Money
	Spent    map[string]spec.Sum
	Reserved spec.Sum
	Quotas   Quotas
	// Limits are the newest rate limits that services have said, by model and account.
	Limits Quotas
	// Said is how many percent of the budget were told to be spent; Exhausted is why it, or that of the day, allows nothing more.
	Said      int
	Day       Day
	Exhausted Exhausted
}

// Day is a day of the machine, its budget, and how many percent of that were told to be spent.
type Day struct {
	Date   string      `json:"date"`
	Budget spec.Budget `json:"budget"`
	Said   int         `json:"said,omitempty"`
}

func newAgents() Agents {
	return Agents{
		Works: Works{}, Queue: Queue{}, Later: map[string]time.Time{}, Spent: map[string]spec.Sum{}, Quotas: Quotas{},
		Limits:   Quotas{},
		Requests: Requests{ByID: map[string]*Request{}, Of: map[string][]*Request{}},
		Messages: Messages{to: map[string][]*Message{}}, Decisions: Decisions{}, Unlike: map[string][]Unlike{},
	}
}

// Busy lists the works whose newest attempt a worker runs and which have not stopped at a turn, but for what nothing waits for.
func (s *Agents) Busy() (ids []string) {
	for id, w := range s.Queue {
		a := w.Attempts[w.Last]
		if id != FlakesTask && w.Outstanding() && !w.Waits() && a.StartedPos > s.Began && !a.Stopped && a.Lacks == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Used is the use of models in the units of budgets.
func (s *Agents) Used() spec.Sum { return spec.Sum{Tokens: s.Usage.Total(), Money: s.Booked} }

// Held is Used with what the calls under way have reserved.
func (s *Agents) Held() spec.Sum { return s.Used().Add(s.Reserved) }

// Exhausted is why the budget allows nothing more, and where in the log that is; empty while it does.
type Exhausted struct {
	Why string
	Pos uint64
}

// WrapUp is how many percent of the budget are spent when agents are asked to finish.
const WrapUp = 95

// Fits reports whether another attempt of a role fits into what is left, by what its attempts have used on average.
func (s *Agents) Fits(role string) bool {
	n, tokens := 0, 0
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Role == role && a.Result != nil && a.Usage.Total() > 0 {
				n, tokens = n+1, spec.Plus(tokens, a.Usage.Total())
			}
		}
	}
	if n == 0 || s.Budget.IsZero() {
		return s.Budget.IsZero()
	}
	used := s.Budget.Of(s.Used())
	forecast := float64(used) * float64(tokens) / float64(n) / float64(max(1, s.Usage.Total()))
	return forecast <= float64(s.Budget.Amount-used)
}

// limit folds another budget, and what the run was told of it.
func (s *Agents) limit(d Data, pos uint64) {
	if d.Budget != nil {
		s.Budget, s.Said, s.Exhausted = *d.Budget, 0, Exhausted{}
	}
	if d.Day != nil {
		if s.DayOver() && (d.Day.Date != s.Day.Date || d.Day.Budget != s.Day.Budget) {
			s.Exhausted = Exhausted{}
		}
		s.Day = *d.Day
	}
	if d.BudgetDay != nil && s.DayOver() {
		s.Exhausted = Exhausted{}
	}
	s.Said = max(s.Said, d.Said)
	if d.Exhausted != "" {
		s.Exhausted = Exhausted{d.Exhausted, pos}
	}
}

// Unpriced reports whether the budget, which is in money, allows nothing more because a model has no price: no money helps.
func (s *Agents) Unpriced() bool { return strings.Contains(s.Exhausted.Why, spec.NoPrice) }

// DayOver reports whether it is the budget of the day that allows nothing more.
func (s *Agents) DayOver() bool { return strings.Contains(s.Exhausted.Why, spec.DayBudget) }

// OverBudget is why a run stops that its budget allows nothing more.
func (s *Agents) OverBudget(why string) string {
	if s.Unpriced() {
		return reasonUnpriced + ": " + why
	}
	return ReasonBudget + ": " + why
}

// fewTokens is a budget that is proposed where nothing tells how many tokens a run needs.
const fewTokens = 1_000_000

// Raised is a budget with which a run that has spent its own goes on.
func (s *Agents) Raised() spec.Budget {
	if s.Unpriced() {
		return spec.Tokens(max(fewTokens, 2*s.Usage.Total()))
	}
	return spec.Budget{Amount: 2 * max(s.Budget.Amount, s.Budget.Of(s.Used())), Money: s.Budget.Money}
}

// OutOfBudget reports whether the run has spent its budget.
func (s *Agents) OutOfBudget() bool { return s.Budget.Used(s.Used(), 100) }

// Quiet reports whether every task has ended and nothing is on the queue.
func (s *Agents) Quiet(tasks *Tasks) bool {
	all, _ := s.Queue.AtWork()
	return all+s.Queue.Waiting() == 0 && tasks.AllEnded()
}

// Alive reports whether the agent of a request still waits for the answer.
func (s *Agents) Alive(q *Request, tasks *Tasks) bool {
	w := s.Works[q.Of]
	if q.Answer != nil || !w.Outstanding() || w.Last != q.Attempt {
		return false
	}
	t := tasks.ByID[q.AskedBy()]
	return t == nil || !t.Ended()
}

// OpenRequests lists the requests whose agents still wait, oldest first.
func (s *Agents) OpenRequests(tasks *Tasks) []*Request {
	return slices.DeleteFunc(slices.Clone(s.Requests.Unanswered), func(q *Request) bool { return !s.Alive(q, tasks) })
}

// Master is how the turns of the master at the plan ended.
type Master struct {
	// Woken counts its results that have had their consequence, Turns its turns since it last wrote to an agent.
	Woken, Turns int
	// Done is set when it has nothing left to do, Again when its newest turn was interrupted without its fault.
	Done, Again bool
	// Fails counts its failures in a row; Fault is the newest.
	Fails int
	Fault spec.Fault
}

// apply folds what the conductor made of a result: nothing more to do, a failure, or a wait.
func (m *Master) apply(d TaskData) {
	m.Woken++
	m.Done, m.Again = d.State == TaskDone, d.Again
	if !d.Again {
		m.Turns++
	}
	if d.Fault == nil {
		m.Fails = 0
		return
	}
	m.Fails++
	m.Fault = *d.Fault
}

// planned folds that a turn made a plan.
func (m *Master) planned() {
	m.Woken++
	m.Turns++
	m.Fails, m.Done = 0, false
}

const (
	// maxFails bounds the master's failures in a row.
	maxFails = 3
	// MaxWakes bounds the master's turns in a row without a message to an agent.
	MaxWakes = 50
)

// GaveUp returns why the master is not woken again; "" while it may be.
func (m *Master) GaveUp() string {
	switch {
	case m.Fails >= maxFails:
		return "the master failed: " + m.Fault.Message
	case m.Turns >= MaxWakes && !m.Done:
		return fmt.Sprintf("the master was woken %d times without coming to an end", MaxWakes)
	default:
		return ""
	}
}

// CalledAt is where in the log an attempt of the master was dispatched; 0 for none.
func (w Works) CalledAt(attempt int) uint64 {
	if a := w[MasterTask].At(attempt); a != nil {
		return a.Pos
	}
	return 0
}

// MasterHasMail reports whether there is a message to the master that no turn of it which succeeded has received, and one will.
func (s *Agents) MasterHasMail() bool {
	all := s.Messages.to[MasterTask]
	if len(all) == 0 || s.Master.Done || s.Master.GaveUp() != "" {
		return false
	}
	newest := all[len(all)-1]
	received := s.Works.CalledAt(s.Master.Woken) > newest.Pos || newest.ReachedAgent(wire.AgentID(MasterTask, s.Master.Woken))
	return !received || s.Master.Again || s.Master.Fails > 0
}

// ForMaster reports whether what came at a position of the log is the master's to answer. What it leaves open when its turn has
// ended is a person's.
func (s *Agents) ForMaster(pos uint64, order *Spec) bool {
	if order.Plan != nil || s.Master.Done || s.Master.GaveUp() != "" {
		return false
	}
	first := 0 // the first turn that begins with it
	if w := s.Works[MasterTask]; w != nil {
		for n := w.Last; n > 0 && s.Works.CalledAt(n) > pos; n-- {
			first = n
		}
	}
	return first == 0 || s.Master.Woken < first || s.Master.Again || s.Master.Fails > 0
}

// Messages are those to tasks and to the master.
type Messages struct {
	// All are in the order of the log, to has those to each task; Late are those that no agent received before their task ended
	// well, and that were not reported yet: a run event that names their task reports them.
	All  []*Message
	to   map[string][]*Message
	Late []*Message
}

// Message is a message to the agents of a task, or to the master.
type Message struct {
	wire.Control

	Pos uint64
	// Receipts are of the agents that received it, in the order of the log.
	Receipts []Receipt
}

// Receipt records the turn before which an agent received a message.
type Receipt struct {
	Agent string `json:"agent"`
	Turn  int    `json:"turn"`
}

// ReachedAgent reports whether an agent has a message.
func (m *Message) ReachedAgent(agent string) bool {
	return slices.ContainsFunc(m.Receipts, func(r Receipt) bool { return r.Agent == agent })
}

func (m *Messages) add(one *Message) {
	m.All, m.to[one.Task] = append(m.All, one), append(m.to[one.Task], one)
}

// received folds that an agent received a message before a turn.
func (m *Messages) received(e *contextscope.Event, id string, turn int) {
	for _, one := range m.to[e.Task] {
		if one.ID == id {
			one.Receipts = append(one.Receipts, Receipt{Agent: e.Agent, Turn: turn})
		}
	}
}

// ended folds that a task ended well: what no agent of it received came too late.
func (m *Messages) ended(task string) {
	for _, one := range m.to[task] {
		if len(one.Receipts) == 0 {
			m.Late = append(m.Late, one)
		}
	}
}

// reported folds that it was reported what came too late for a task.
func (m *Messages) reported(task string) {
	m.Late = slices.DeleteFunc(m.Late, func(one *Message) bool { return one.Task == task })
}

// To returns the messages to a task, or to the master, behind a position of the log, oldest first. It is not to be
// changed.
func (m *Messages) To(task string, from uint64) []*Message {
	all := m.to[task]
	i := len(all)
	for i > 0 && all[i-1].Pos > from {
		i--
	}
	return all[i:]
}

// HandsIn reports whether the newest delivery of an attempt by a coding agent has ended with figures, and its result is to come.
func (s *Spec) HandsIn(a *Attempt) bool {
	return s.Roles[a.Role].Usage != "" && a.metered && a.Result == nil
}

// Unmetered counts the attempts of coding agents that have ended, or were interrupted, and whose use is not known.
func (s *State) Unmetered() (n int) {
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			n += a.Unmetered
			if s.Status.Ended() && (s.unmetered(a) || len(a.reserved) > 0) {
				n++
			}
		}
	}
	return n
}

// Plus words, behind a number of tokens, how many attempts are not in it; "" for none.
func Plus(unmetered int) string {
	switch unmetered {
	case 0:
		return ""
	case 1:
		return ", plus 1 attempt with unknown use"
	}
	return fmt.Sprintf(", plus %d attempts with unknown use", unmetered)
}
