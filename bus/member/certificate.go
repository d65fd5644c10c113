package member

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2/maybe"

	"divisi/internal/usage"
)

const (
	certificateFile = "server.pem" // the certificate and its key
	certificateLife = 365 * 24 * time.Hour
	clockSkew       = time.Hour
)

// Why a server is not used.
var (
	// ErrCertificate: the server is not the one that was joined.
	ErrCertificate = errors.New("the server has another certificate")
	// ErrEnded: the server's certificate is no longer valid.
	ErrEnded = errors.New("the certificate of the server has ended")
)

// Certificate is what a server shows to its clients, and the digest by which they know it. It signs itself, is kept in a
// directory and lasts a year. A new one takes its place when it has ended or lacks one of the hosts: then every member has to
// join again, as the digest is another one.
func Certificate(dir string, hosts []string, clock func() time.Time) (tls.Certificate, string, error) {
	path := filepath.Join(dir, certificateFile)
	data, err := os.ReadFile(path)
	if err == nil {
		cert, err := tls.X509KeyPair(data, data)
		if err != nil {
			return tls.Certificate{}, "", usage.Errorf("%s is damaged: %v. Remove it: then each member has to join again",
				path, err)
		}
		if serves(cert.Leaf, hosts, clock()) {
			return cert, Digest(cert), nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, "", fmt.Errorf("read the server's certificate: %w", err)
	}
	if data, err = newCertificate(hosts, clock()); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make the server's certificate: %w", err)
	}
	cert, err := tls.X509KeyPair(data, data)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("read the server's new certificate: %w", err)
	}
	return cert, Digest(cert), nil
}

// Digest is the SHA-256 of a certificate, in hex.
func Digest(cert tls.Certificate) string {
	s := sha256.Sum256(cert.Certificate[0])
	return hex.EncodeToString(s[:])
}

func serves(leaf *x509.Certificate, hosts []string, now time.Time) bool {
	for _, h := range hosts {
		if leaf.VerifyHostname(h) != nil {
			return false
		}
	}
	return now.Before(leaf.NotAfter)
}

// newCertificate is a certificate with its key, as PEM.
func newCertificate(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose a number: %w", err)
	}
	want := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "divisi"},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			want.IPAddresses = append(want.IPAddresses, ip)
		} else {
			want.DNSNames = append(want.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, want, want, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign it: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode its key: %w", err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// Pinned accepts the server whose certificate has the digest, and no other one, until that ends. No authority is asked, and no
// name compared: the digest came with the token.
func Pinned(digest string, clock func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the digest, which no authority can forge
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return fmt.Errorf("%w: it shows none", ErrCertificate)
			}
			leaf := s.PeerCertificates[0]
			if got := Digest(tls.Certificate{Certificate: [][]byte{leaf.Raw}}); got != digest {
				return fmt.Errorf("%w: its digest is %.16s…, and that of the one that was joined %.16s…. If it was made anew, "+
					"join again", ErrCertificate, got, digest)
			}
			if !clock().Before(leaf.NotAfter) {
				return fmt.Errorf("%w: on %s. Start the server again, which makes a new one, and join again", ErrEnded,
					leaf.NotAfter.UTC().Format(time.RFC3339))
			}
			return nil
		},
	}
}
