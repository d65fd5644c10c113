package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

const (
	// bytesPerToken is the estimate of how much JSON makes a token.
	bytesPerToken = 3.5
	// leastOutput is the answer that is reserved at least for a call whose answer can be bounded, in tokens.
	leastOutput = 4096
	// unknownWindow is the window of a model that is not known, in tokens: none has a larger one.
	unknownWindow = 1 << 20
	// fairShare is the part of the free tokens that one call reserves for an answer that can be bounded.
	fairShare = 4
	// maxTold bounds how many requests are kept whose tokens a model has told, maxBodies what they have together, in bytes.
	maxTold, maxBodies = 512, 256 << 20
	// seams are the tokens that two texts have more than one of both: at each end of what is new.
	seams = 8
)

// Need is what a call needs of a budget: its request and the tokens of its answer. Where the call can bound the answer, one of
// fewer tokens will do, down to Least; 0 for none.
type Need struct {
	// Of names the conversation that the request continues.
	Of, Model, Tier string
	Body            []byte
	Output, Least   int
	// AnyTier reports that the service may serve it in any tier.
	AnyTier bool
	// Windows is how many prompts of the model's whole window it may take, 0 where the body bounds it; Why says why it needs so
	// much. Known is the most tokens of the prompt, where another budget has found them.
	Windows int
	Known   int
	Why     string
}

// Reserved is what a budget has reserved for a call: the tokens that its prompt and its answer have at most, and their amount.
type Reserved struct {
	Need

	Prompt int
	Amount int64
	// Money is the amount where that is money.
	Money spec.Money
	// over is reserved in the budget above, day is the day of a pool.
	over *Reserved
	day  string
}

// Usage is the use of a call that takes all that is reserved.
func (r *Reserved) Usage() spec.Usage {
	return spec.Usage{Calls: 1, Prompt: r.Prompt, Output: r.Output}
}

// Budget is a hard limit for the process, in tokens or in money. Before a call the most that it can use is reserved; after it
// what the server reported is booked. A call that does not fit beside those under way waits until they are booked: they use less
// than they have reserved. It is safe for concurrent use.
type Budget struct {
	mu       sync.Mutex
	limit    spec.Budget
	spent    int64
	reserved int64
	// prices are those that a call of a model may have on a day; tokens need none.
	prices Prices
	// told are the newest requests whose tokens a model has told, by conversation.
	told map[string]told
	size int
	// settled is closed when the next call has been booked.
	settled chan struct{}

	// Where the limit is granted bit by bit: ask asks for more, one call at a time, which wants so much; calls may begin until a
	// time.
	ask    func(context.Context) Asked
	asking chan struct{}
	wanted int64
	until  time.Time

	// pool has what is spent and reserved where other processes share it, but for what it has refused; own is its limit as this
	// process has it. over is a budget that calls fit into too.
	pool     Pool
	unbooked []booking
	own      int64
	over     *Budget
}

// NewBudget makes a budget; a resumed run has spent some already. A limit of zero or less means no limit; spending is still
// counted. A budget in money needs prices.
func NewBudget(limit spec.Budget, spent int64, prices Prices) *Budget {
	return &Budget{
		limit: limit, spent: spent, prices: prices, told: map[string]told{}, settled: make(chan struct{}),
	}
}

// Raise sets another limit in the same unit: calls that wait try again.
func (b *Budget) Raise(amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit.Amount = amount
	b.wake()
}

// Reserve returns once what a call needs is reserved, or with the error of a call that does not fit although none is under way.
// Before it waits it calls waits, once, with the reason.
func (b *Budget) Reserve(ctx context.Context, a Need, waits func(why string)) (r Reserved, err *Error) {
	if b.ask != nil {
		r, err = b.obtain(ctx, a, waits)
	} else {
		r, err = b.await(ctx, a, waits)
	}
	if err == nil && b.over != nil {
		err = b.reserveOver(ctx, &r, waits)
	}
	return r, err
}

func (b *Budget) await(ctx context.Context, a Need, waits func(why string)) (Reserved, *Error) {
	for told := false; ; told = true {
		r, settled, err := b.try(a)
		if settled == nil {
			return r, err
		}
		if !told {
			waits(err.Message)
		}
		select {
		case <-settled:
		case <-b.again():
		case <-ctx.Done():
			return r, cancelled(ctx.Err())
		}
	}
}

// fit reserves what is left. Where that is too little it returns an error, and what to wait for, if anything. The caller holds
// mu.
func (b *Budget) fit(a Need) (r Reserved, settled <-chan struct{}, err *Error) {
	if r, err = b.sized(a); err != nil {
		return r, nil, err
	}
	if b.fits(r.Amount) {
		b.reserved += r.Amount
		return r, nil, nil
	}
	why := ""
	if a.Why != "" {
		why = " (" + a.Why + ")"
	}
	of := b.limit.Figure(b.limit.Amount)
	if b.pool != nil {
		of = spec.DayBudget + ", " + of + ","
	}
	err = &Error{Class: OverBudget, Message: fmt.Sprintf("the call needs about %s%s; %s of %s are spent",
		b.limit.Figure(r.Amount)+b.limit.Unit(), why, b.limit.Figure(b.spent), of)}
	if b.reserved == 0 {
		return r, nil, err
	}
	err.Message += fmt.Sprintf(" and %s reserved for calls under way", b.limit.Figure(b.reserved))
	return r, b.settled, err
}

// sized is the most that a call can use. An answer that can be bounded is, where little is left. The caller holds mu.
func (b *Budget) sized(a Need) (Reserved, *Error) {
	r := Reserved{Need: a, Prompt: b.promptOf(&a)}
	most, known := b.most(&r)
	if !known && b.pool != nil {
		return r, &Error{Class: OverBudget, Message: fmt.Sprintf("%s is in money, and the price of model %s is not known",
			spec.DayBudget, a.Model)}
	}
	if !known {
		return r, &Error{Class: OverBudget, Message: fmt.Sprintf("model %s %s: the run can go on with a budget in tokens",
			a.Model, spec.NoPrice)}
	}
	if share := (b.limit.Amount - b.spent - b.reserved) / fairShare; a.Least > 0 && most > share && b.limited() {
		r.Output = 0
		prompt, _ := b.most(&r)
		each := max(1, (most-prompt)/int64(max(1, a.Output)))
		r.Output = min(a.Output, max(a.Least, int((share-prompt)/each)))
		most, _ = b.most(&r)
	}
	if r.Amount = most; b.limit.Money {
		r.Money = spec.Money(most)
	}
	return r, nil
}

// promptOf is the most tokens that a request has. A token has a byte at least; of a request that continues another one only what
// is new counts so. The caller holds mu.
func (b *Budget) promptOf(n *Need) int {
	if n.Known > 0 {
		return n.Known
	}
	if n.Windows > 0 && (b.limited() || b.over != nil) {
		info := Lookup(n.Model)
		if !info.Known {
			info.Window = max(info.Window, unknownWindow)
		}
		return max(len(n.Body), n.Windows*info.Window)
	}
	most := len(n.Body)
	if own, known := b.told[n.Of]; known && own.model == n.Model {
		return min(most, own.bound(n.Body))
	}
	for _, other := range b.told {
		if other.model == n.Model {
			return min(most, other.bound(n.Body))
		}
	}
	return most
}

// told is a request whose tokens a model has told.
type told struct {
	model  string
	body   []byte
	prompt int
}

// bound is the most tokens that a request has which begins and ends like it: those that are known, and a token for each byte
// between.
func (t *told) bound(body []byte) int {
	least := min(len(t.body), len(body))
	first, last := 0, 0
	for first < least && t.body[first] == body[first] {
		first++
	}
	for last < least-first && t.body[len(t.body)-1-last] == body[len(body)-1-last] {
		last++
	}
	return t.prompt + len(body) - first - last + seams
}

// most is the most that a call counts, in the unit of the budget; it may end on the next day.
func (b *Budget) most(r *Reserved) (most int64, known bool) {
	if !b.limit.Money {
		return int64(r.Prompt + r.Output), true
	}
	now := time.Now()
	rows := b.prices(r.Model, now)
	known = len(rows) > 0
	for _, p := range append(rows, b.prices(r.Model, now.AddDate(0, 0, 1))...) {
		most = max(most, int64(p.Most(r.Prompt, r.Output, r.Tier)))
		for tier := range p.tiers {
			if r.AnyTier {
				most = max(most, int64(p.Most(r.Prompt, r.Output, tier)))
			}
		}
	}
	return most, known
}

// amount is what a use counts in a tier; without a known price it is what was reserved.
func (b *Budget) amount(r *Reserved, used spec.Usage, tier string) (amount int64) {
	switch {
	case !b.limit.Money:
		return int64(used.Total())
	case used == spec.Usage{}:
		return 0
	case !Lookup(r.Model).Serves(tier):
		return r.Amount
	}
	rows := b.prices(r.Model, time.Now())
	if len(rows) == 0 {
		return r.Amount
	}
	for _, p := range rows {
		amount = max(amount, int64(p.Cost(used, tier)))
	}
	return amount
}

// Settle books the use of a call that had reserved something, in the tier that it was served in, and returns the money of it.
// A guess is the use of a call whose service did not tell it.
func (b *Budget) Settle(r *Reserved, used spec.Usage, tier string, guess bool) spec.Money {
	amount := b.amount(r, used, tier)
	if r.over != nil {
		b.over.Settle(r.over, used, tier, guess)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if used.Calls == 1 && !guess && r.Windows == 0 && r.Known == 0 {
		b.learn(r, used.Prompt)
	}
	b.book(r, amount)
	b.wake()
	if b.limit.Money {
		return spec.Money(amount)
	}
	return 0
}

// learn keeps a request whose tokens a model has told. The caller holds mu.
func (b *Budget) learn(r *Reserved, prompt int) {
	if b.size += len(r.Body) - len(b.told[r.Of].body); len(b.told) >= maxTold || b.size > maxBodies {
		b.told, b.size = map[string]told{}, len(r.Body)
	}
	b.told[r.Of] = told{r.Model, r.Body, prompt}
}

// Prices are the prices that a call of a model may have on a day; none where they are not known.
type Prices func(model string, day time.Time) []Price

// PricesOf are the prices of a project: under each of its aliases for a model, and of the table.
func PricesOf(project *spec.Project) Prices {
	return func(model string, day time.Time) (rows []Price) {
		names := []string{model}
		for alias := range project.Models {
			if project.ModelName(alias) == model {
				names = append(names, alias)
			}
		}
		for _, name := range names {
			if p, known := PriceOf(project, RowOf(project, day, name)); known {
				rows = append(rows, p)
			}
		}
		return rows
	}
}

// wake has those that wait try again. The caller holds mu.
func (b *Budget) wake() {
	close(b.settled)
	b.settled = make(chan struct{})
}

// Estimate is the number of input tokens of a request, from its size as JSON.
func Estimate(req *Request) int {
	var n counter
	write(req, &n)
	return EstimateBytes(int(n))
}

// write writes a request as JSON.
func write(req *Request, to io.Writer) {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	for _, part := range []any{req.Contents, req.Config} {
		if err := enc.Encode(part); err != nil {
			continue // what cannot be written is refused by validation and costs nothing
		}
	}
}

// EstimateBytes is the number of tokens of so many bytes of JSON.
func EstimateBytes(n int) int { return int(float64(n)/bytesPerToken) + 1 }

type counter int

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// mostOutput is how many tokens the answer to a request has at most.
func mostOutput(req *Request) int {
	most := Lookup(req.Model).MaxOutput
	if c := req.Config; c != nil && c.MaxOutputTokens > 0 {
		most = min(most, int(c.MaxOutputTokens))
	}
	return most
}

// bounded is a request whose answer has at most so many tokens.
func bounded(req *Request, tokens int) *Request {
	if tokens >= mostOutput(req) {
		return req
	}
	out := *req
	config := genai.GenerateContentConfig{}
	if req.Config != nil {
		config = *req.Config
	}
	config.MaxOutputTokens = int32(tokens)
	out.Config = &config
	return &out
}
