package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"divisi/internal/model"
	"divisi/internal/spec"
)

const (
	// maxBody bounds a request, maxRefusal a refusal of the service, in bytes.
	maxBody    = 64 << 20
	maxRefusal = 1 << 20
	// maxWait bounds how long one call waits for the rate limit in all.
	maxWait = 30 * time.Minute
	// maxOutput and maxAnswers bound the answers of a call: no service gives more.
	maxOutput, maxAnswers = 10_000_000, 128
)

// Kinds of refusals.
const (
	kindToken    = "authentication_error"
	kindRequest  = "invalid_request_error"
	kindBudget   = "permission_error"
	kindUpstream = "api_error"
	kindQuota    = "rate_limit_error"
)

// door serves the calls of one attempt.
type door struct {
	*Gateway

	attempt Attempt
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.knows(r) {
		d.refuse(w, http.StatusUnauthorized, kindToken, "the token is not that of this attempt")
		return
	}
	var body []byte
	c, why := d.callOf(r, []byte("{}")) // before its body is read
	if c != nil && !c.reads {
		var done func()
		var err error
		if body, done, err = read(w, r); err != nil {
			d.refuse(w, http.StatusRequestEntityTooLarge, kindRequest, "the request could not be read: "+err.Error())
			return
		}
		defer done()
		c, why = d.callOf(r, body)
	}
	if c != nil {
		why = d.denies(c)
	}
	if why != "" {
		d.attempt.Refused(model.Invalidf("%s", why))
		d.refuse(w, http.StatusNotFound, kindRequest, why)
		return
	}
	if used := d.limit.Refuse(model.Candidate{Model: c.model}); used != nil && !c.free {
		d.attempt.Wait(used.Used)
		d.attempt.Refused(used)
		d.refuse(w, http.StatusTooManyRequests, kindQuota, used.Message)
		return
	}
	reserved, fault := d.reserve(r.Context(), &d.attempt, c, body)
	if fault != nil {
		d.attempt.Refused(fault)
		d.refuse(w, http.StatusForbidden, kindBudget, "the budget of the run allows no further call: "+fault.Message)
		return
	}
	use, pay := Use{Model: c.model, Usage: reserved.Usage(), Bytes: len(body), Booked: reserved.Money}, func(Use) {}
	if !c.free {
		var err error
		if pay, err = d.attempt.Begin(use); err != nil {
			d.settle(&reserved, &Use{})
			d.refuse(w, http.StatusForbidden, kindBudget, "the call could not be noted, and is not made")
			return
		}
	}
	began := time.Now()
	a := d.pass(w, r, c, body)
	use.Usage, use.Tier, use.Took = a.use.Usage, a.use.Tier, time.Since(began)
	if use.Usage.Calls > 0 && (!a.ended || use.Usage.Prompt == 0) { // an answer without a prompt is one without figures
		use.Estimated = true
		use.Usage.Prompt = max(use.Usage.Prompt, reserved.Prompt)
		use.Usage.Output = max(use.Usage.Output, reserved.Output-use.Usage.Thoughts)
	}
	d.settle(&reserved, &use)
	pay(use)
	if a.broken {
		panic(http.ErrAbortHandler) // the program must not take a cut answer for a whole one
	}
}

// answered is how a call went. Its use has one call where a model has answered, or has the request and may answer it; ended
// reports that the service said its last word of it, broken that the answer, or the program, broke off.
type answered struct {
	use           Use
	ended, broken bool
}

// settle books a call.
func (d *door) settle(reserved *model.Reserved, use *Use) {
	if d.budget != nil {
		use.Booked = d.budget.Settle(reserved, use.Usage, use.Tier, use.Estimated)
	}
}

// knows reports whether a request has the attempt's token.
func (d *door) knows(r *http.Request) bool {
	for _, token := range []string{d.form.token(r.Header), r.URL.Query().Get("key")} {
		if subtle.ConstantTimeCompare([]byte(token), []byte(d.attempt.Token)) == 1 {
			return true
		}
	}
	return false
}

// callOf reads a request; nil with the reason where it is not passed on.
func (d *door) callOf(r *http.Request, body []byte) (c *call, why string) {
	at, below := strings.CutPrefix(r.URL.Path, d.form.under)
	if below && path.Clean(at) == at && r.Header.Get("Content-Encoding") == "" {
		c = d.form.call(at, body)
	}
	method := http.MethodPost
	if c != nil && c.reads {
		method = http.MethodGet
	}
	switch {
	case c == nil || c.free && r.Method != method:
		return nil, fmt.Sprintf("the gateway passes calls of models on, and no %s %s", r.Method, r.URL.Path)
	case r.Method != method:
		return nil, "a call of a model is a POST"
	}
	return c, ""
}

// denies is why a call is not passed on; empty where it is.
func (d *door) denies(c *call) string {
	switch {
	case !c.free && !d.allows(c.model):
		return fmt.Sprintf("the role allows no model %q: its models are %s", c.model, strings.Join(d.service.Models, ", "))
	case c.most < 0 || c.most > maxOutput:
		return fmt.Sprintf("no answer has %d tokens", c.most)
	case c.answers < 0 || c.answers > maxAnswers:
		return fmt.Sprintf("no call has %d answers", c.answers)
	}
	return ""
}

// flight bounds the bytes of all requests that the process holds, maxRead the time in which one is read.
var flight = semaphore.NewWeighted(2 * maxBody)

const maxRead = 2 * time.Minute

// read reads a request, once there is room for it; done gives the room back.
func read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	room := int64(maxBody)
	if r.ContentLength > room {
		return nil, nil, fmt.Errorf("it has more than %d bytes", maxBody)
	} else if r.ContentLength >= 0 {
		room = r.ContentLength
	}
	if err := flight.Acquire(r.Context(), room); err != nil {
		return nil, nil, err
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(maxRead)) // a connection without deadlines is read without one
	var all bytes.Buffer
	if r.ContentLength > 0 {
		all.Grow(int(room) + bytes.MinRead)
	}
	_, err = all.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		flight.Release(room)
		return nil, nil, err
	}
	_ = control.SetReadDeadline(time.Time{})
	held := int64(all.Len())
	flight.Release(room - held)
	return all.Bytes(), func() { flight.Release(held) }, nil
}

// pass sends a request until it is answered, and passes the answer on.
func (d *door) pass(w http.ResponseWriter, r *http.Request, c *call, body []byte) (a answered) {
	resp, sent, err := d.answer(r, c, body)
	if err != nil {
		if sent && !c.free {
			a.use.Usage.Calls = 1
		}
		d.refuse(w, http.StatusBadGateway, kindUpstream, err.Error())
		return a
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if lost(resp.StatusCode) && !c.free {
			a.use.Usage.Calls = 1
		}
		d.passRefusal(w, resp)
		return a
	}
	d.answerHeader(w.Header(), resp)
	w.WriteHeader(resp.StatusCode)
	here := &flusher{w, http.NewResponseController(w)}
	if c.free {
		_, err = io.Copy(here, resp.Body)
	} else {
		a.use.Usage.Calls = 1
		err = model.ReadEvents(io.TeeReader(resp.Body, here), func(event []byte) {
			a.ended = d.form.read(event, &a.use) || a.ended
		})
	}
	a.broken = err != nil
	return a
}

// lost reports whether a status is that of a machine between here and the service, whose answer is lost: it may have the request.
func lost(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout || status >= 520 && status <= 527
}

// answer sends a request, and again after a rate limit that ends soon: all calls of the process wait for it. sent reports that
// the service may have the request of an error.
func (d *door) answer(r *http.Request, c *call, body []byte) (_ *http.Response, sent bool, _ error) {
	ctx, cand := r.Context(), model.Candidate{Model: c.model}
	key, fault := d.key(ctx, "")
	if fault != nil {
		d.attempt.Refused(fault)
		return nil, false, fault
	}
	for waited, limited, again := time.Duration(0), 0, false; ; limited++ {
		from := time.Now()
		until, quota := d.limit.Until()
		wait := spec.Wait{For: spec.WaitLimit, Model: c.model, Until: until, Quota: quota, Account: d.limit.Account()}
		if until.After(from) {
			d.attempt.Wait(wait)
		}
		if err := d.limit.Wait(ctx); err != nil {
			if until.After(from) { // no fault of the program's: nothing but the limit made it wait
				d.attempt.Refused(&model.Error{
					Class: model.RateLimited, Quota: quota, RetryAfter: time.Until(until),
					Message: wait.String() + "; the program gave up waiting",
				})
			}
			return nil, false, err
		}
		waited += time.Since(from)
		resp, sent, err := d.send(ctx, r, c, body, key)
		if err == nil && resp.StatusCode == http.StatusUnauthorized && d.login != nil && !again {
			again = true
			_ = resp.Body.Close() // its words name the token
			if key, fault = d.key(ctx, key); fault != nil {
				d.attempt.Refused(fault)
				return nil, false, fault
			}
			continue
		}
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || waited > maxWait {
			return resp, sent, err
		}
		refusal, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return nil, false, fmt.Errorf("read a refusal: %w", err)
		}
		fault := model.FromStatus(resp.StatusCode, resp.Header, refusal).Hide(key)
		if !d.limit.Refused(ctx, cand, fault, limited) {
			d.attempt.Refused(fault)
			resp.Body = io.NopCloser(bytes.NewReader(refusal))
			return resp, true, nil
		}
	}
}

// send sends a request with the key. sent reports that there was a connection for it, which the transport has not given up to
// send it on another one.
func (d *door) send(
	ctx context.Context, r *http.Request, c *call, body []byte, key string,
) (_ *http.Response, sent bool, _ error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sent = false }, GotConn: func(httptrace.GotConnInfo) { sent = true },
	})
	to := *d.base
	to.Path += cmp.Or(c.path, strings.TrimPrefix(r.URL.Path, d.form.under))
	query := r.URL.Query()
	query.Del("key")
	to.RawQuery = query.Encode()
	out, err := http.NewRequestWithContext(ctx, r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	passHeader(out.Header, r.Header)
	if d.service.Login {
		out.Header.Set("Anthropic-Beta", strings.Join(append(out.Header.Values("Anthropic-Beta"), loginBeta), ","))
		out.Header.Set("Authorization", "Bearer "+key)
	} else {
		d.form.sign(out.Header, key)
	}
	resp, err := d.client.Do(out) //nolint:gosec // the address is the one that a person has set up
	if err != nil {
		return nil, sent, model.AsError(err).Hide(key)
	}
	return resp, true, nil
}

// passRefusal passes a refusal on, without the key: services name the key that they refuse.
func (d *door) passRefusal(w http.ResponseWriter, resp *http.Response) {
	if resp.StatusCode < 400 {
		d.refuse(w, http.StatusBadGateway, kindUpstream, "the service redirects: set its final address")
		return
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	var words any
	_ = json.Unmarshal(body, &words) // letters of the key can be written as numbers; what is no JSON is read as it is
	key := d.form.token(resp.Request.Header)
	told := key != "" && (bytes.Contains(body, []byte(key)) || strings.Contains(fmt.Sprint(words), key))
	if resp.StatusCode == http.StatusUnauthorized {
		d.attempt.Refused(&model.Error{Class: model.Auth, Status: resp.StatusCode, Message: d.expired()})
	}
	if err != nil || told || resp.StatusCode == http.StatusUnauthorized {
		d.refuse(w, resp.StatusCode, kindUpstream, "the service refuses the call: "+http.StatusText(resp.StatusCode))
		return
	}
	d.answerHeader(w.Header(), resp)
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body) // a program that has gone needs no answer
}

// expired is why no call gets through any more.
func (d *door) expired() string {
	switch {
	case d.login != nil:
		return "the service refuses the login, and the token that came in its place: log in again with claude"
	case d.service.Login:
		return "the service refuses the login: it has run out, or was withdrawn; log in again (claude setup-token)"
	}
	return "the service refuses the key"
}

// refuse answers in the words of the service. Clients of all forms do not try again.
func (d *door) refuse(w http.ResponseWriter, status int, kind, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(d.form.refusal(kind, "Divisi: "+why)) // a program that has gone needs no answer
}

// kept are headers that belong to one connection, or to the login.
var kept = []string{
	"Accept-Encoding", "Authorization", "Connection", "Content-Length", "Cookie", "Host", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Connection", "Set-Cookie", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Api-Key", "X-Goog-Api-Key",
}

func passHeader(to, from http.Header) {
	maps.Copy(to, from)
	for _, name := range kept {
		to.Del(name)
	}
}

// answerHeader passes the header of an answer on, but for what has the key in it.
func (d *door) answerHeader(to http.Header, from *http.Response) {
	passHeader(to, from.Header)
	key := d.form.token(from.Request.Header)
	maps.DeleteFunc(to, func(_ string, values []string) bool {
		return key != "" && strings.Contains(strings.Join(values, "\n"), key)
	})
}

// flusher passes each piece on as it comes.
type flusher struct {
	w       io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (f *flusher) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
