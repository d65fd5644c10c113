package dashboard

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

//go:embed web/index.html web/icon.svg dist/app.js dist/app.css
var assets embed.FS

// routes are the page, its parts and its data. The page reads its own address, so that each object has one.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	index := s.asset("web/index.html", "text/html; charset=utf-8")
	for _, path := range []string{"/{$}", "/runs", "/runs/{run}", "/runs/{run}/tasks/{task}", "/runs/{run}/decisions/{id}"} {
		mux.HandleFunc("GET "+path, index)
	}
	mux.HandleFunc("GET /app.js", s.asset("dist/app.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /app.css", s.asset("dist/app.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /icon.svg", s.asset("web/icon.svg", "image/svg+xml"))
	for address, answer := range s.api() {
		method, path, _ := strings.Cut(address, " ")
		mux.HandleFunc(method+" "+prefix+path, answer)
	}
	mux.HandleFunc("/api/", s.unknown)
	return mux
}

func (s *Server) asset(name, mime string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := assets.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", mime)
		s.send(w, data)
	}
}

func (s *Server) sendJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the answer: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.send(w, data)
}

// send writes an answer within the time that a browser on this machine may take.
func (s *Server) send(w http.ResponseWriter, data []byte) {
	err := errors.Join(s.deadline(w), func() error { _, err := w.Write(data); return err }()) //nolint:gosec // it is JSON
	if err != nil {
		s.opts.Logger.Debug().Err(err).Msg("an answer did not reach the browser")
	}
}
