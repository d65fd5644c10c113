package model

import (
	"context"
	"iter"
)

// Router sends each request to the client that serves its model. It is safe for concurrent use.
type Router struct {
	routes map[string]Model
	others Model
}

// NewRouter makes a router from the names of models to their clients. others, which may be nil, serves every other name.
func NewRouter(routes map[string]Model, others Model) *Router { return &Router{routes, others} }

// Generate implements Model. A model without a client is an error of class Invalid.
func (r *Router) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	client := r.others
	if req != nil {
		if m, ok := r.routes[req.Model]; ok {
			client = m
		}
	}
	if client != nil {
		return client.Generate(ctx, req)
	}
	return func(yield func(Event, error) bool) {
		if err := validate(req); err != nil {
			yield(Event{}, err)
			return
		}
		yield(Event{}, invalidf("no service is set up for model %s: name it in models of .divisi/divisi.yaml", req.Model))
	}
}
