package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"
)

// drainTime is how long the connection of a finished stream may take to become free for the next call.
const drainTime = 200 * time.Millisecond

// Poster sends requests and reads their answers as server-sent events, with the connections, the patience and the classes of
// failure of the Gemini client: for clients that speak HTTP themselves. It is safe for concurrent use.
type Poster struct {
	client *http.Client
	base   *http.Transport // nil when the transport is the caller's
	refuse refuser
}

// NewPoster makes a poster. Of opt it takes HTTPClient and Patience; silence is for models that Patience does not know. With
// tell every request says in headers on whose behalf it is made. refuse makes the error of an answer whose status is not 2xx.
func NewPoster(
	opt Options, silence time.Duration, tell bool, refuse func(status int, h http.Header, body []byte) *Error,
) *Poster {
	p := &Poster{refuse: refuse}
	opt.silence = silence
	p.client, p.base = newHTTPClient(opt, tell)
	return p
}

// Close closes idle connections. Calls under way are not touched.
func (p *Poster) Close() {
	if p.base != nil {
		p.base.CloseIdleConnections()
	}
}

// Post sends the request req as post and hands take the data of each event of the answer, good for that call only, until take
// returns false. done reports that the server marked the end of the stream.
func (p *Poster) Post(post *http.Request, req *Request, take func(data []byte) bool) (done bool, fault *Error) {
	parent := post.Context()
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	c := &call{req: req, plain: true, encoded: func() {}, stop: stop, refuse: p.refuse}
	done, err := p.stream(post.WithContext(context.WithValue(ctx, callKey{}, c)), c, take)
	if err != nil {
		return done, classify(parent, context.Cause(ctx), c, err)
	}
	return done, nil
}

var errRefused = errors.New("the server refused")

func (p *Poster) stream(post *http.Request, c *call, take func([]byte) bool) (done bool, err error) {
	resp, err := p.client.Do(post) //nolint:gosec // the address is the one that a person has set up
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return false, errRefused
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return false, Invalidf("a web page came in place of an answer: the address is not that of the API")
	}
	events := newEventReader(resp.Body)
	for {
		data, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			c.failed(err)
			return false, err
		case string(data) == doneMark:
			drain(resp.Body, c)
			return true, nil
		case !take(data):
			return false, nil
		}
	}
}

// drain reads what comes behind the end, so that the connection can be used again. A server that leaves the stream open is not
// waited for, and what it still says means nothing.
func drain(body io.Reader, c *call) {
	timer := time.AfterFunc(drainTime, func() { c.stop(nil) })
	defer timer.Stop()
	if _, err := io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)); err != nil {
		c.failed(err)
	}
}

// deep reports that the model thinks for long: it was told to, or, where it was told nothing, it is not of the quick kind.
func (req *Request) deep() bool {
	if req.Config != nil && req.Config.ThinkingConfig != nil && req.Config.ThinkingConfig.ThinkingLevel != "" {
		return req.Config.ThinkingConfig.ThinkingLevel == genai.ThinkingLevelHigh
	}
	return !strings.Contains(req.Model, "flash")
}
