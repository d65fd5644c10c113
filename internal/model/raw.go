package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// errCaptured ends a call whose body has been seen.
var errCaptured = errors.New("captured")

// captor is a transport that sends nothing and keeps the body.
type captor struct{ body []byte }

// RoundTrip implements http.RoundTripper.
func (c *captor) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.body = bytes.TrimSpace(body)
	return nil, errCaptured
}

// Raw is the body of a request as Gemini's API would be sent it. It goes through the very same client, which sends nothing.
func Raw(ctx context.Context, req *Request) ([]byte, error) {
	c := &captor{}
	g, err := NewGemini(ctx, Options{
		APIKey: "none", BaseURL: "http://127.0.0.1", HTTPClient: &http.Client{Transport: c},
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	for _, err := range g.Generate(ctx, req) {
		if c.body != nil {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return c.body, nil
}
