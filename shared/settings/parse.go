package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
)

// parser reads one variable into a field of the settings. Allowed says in words what
// it takes; the error of set need not repeat that.
type parser struct {
	Allowed string
	set     func(value string) error
}

var errRange = errors.New("is out of range")

func text(field *string, pattern, allowed string) parser {
	re := regexp.MustCompile(`^(?:` + pattern + `)$`)
	return parser{allowed, func(value string) error {
		if !re.MatchString(value) {
			return errors.New("does not fit")
		}
		*field = value
		return nil
	}}
}

func whole[T ~int | ~uint16](field *T, from, to int) parser {
	return parser{fmt.Sprintf("a whole number from %d to %d", from, to), func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("is not a whole number")
		}
		if n < from || n > to {
			return errRange
		}
		*field = T(n)
		return nil
	}}
}

func decimal(field *float64, from, to float64) parser {
	return parser{fmt.Sprintf("a number from %v to %v", from, to), func(value string) error {
		f, err := number(value, from, to)
		if err != nil {
			return err
		}
		*field = f
		return nil
	}}
}

// span reads a number of units; the unit is in the variable's name.
func span(field *time.Duration, unit time.Duration, from, to float64) parser {
	return parser{fmt.Sprintf("a number from %v to %v", from, to), func(value string) error {
		f, err := number(value, from, to)
		if err != nil {
			return err
		}
		*field = time.Duration(math.Round(f * float64(unit)))
		return nil
	}}
}

func number(value string, from, to float64) (float64, error) {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(f) {
		return 0, errors.New("is not a number")
	}
	if f < from || f > to {
		return 0, errRange
	}
	return f, nil
}

// backendAddress reads where a backend is.
func (s *Settings) backendAddress(backend string) parser {
	return parser{"a URL with http or https, without query", func(value string) error {
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("is not such a URL")
		}
		s.Backends.URLs[backend] = strings.TrimRight(value, "/")
		return nil
	}}
}

// ofBusiness reads a setting of the business.
func (s *Settings) ofBusiness(b business.Setting) parser {
	switch b.Kind {
	case business.Whole:
		return among(s, b.Name, func(field *int) parser { return whole(field, int(b.Min), int(b.Max)) })
	case business.Decimal:
		return among(s, b.Name, func(field *float64) parser { return decimal(field, b.Min, b.Max) })
	case business.Span:
		return among(s, b.Name, func(field *time.Duration) parser { return span(field, b.Unit, b.Min, b.Max) })
	case business.Secret:
		return among(s, b.Name, secret)
	case business.URL:
		return among(s, b.Name, safe)
	}
	return among(s, b.Name, func(field *string) parser { return text(field, `[^\x00]*`, "a text, or nothing") })
}

// among is a parser whose value is put among those of the business.
func among[T any](s *Settings, name string, of func(field *T) parser) parser {
	field := new(T)
	p := of(field)
	return parser{p.Allowed, func(value string) error {
		err := p.set(value)
		s.Business[name] = *field
		return err
	}}
}

// safe reads a URL that nobody on the way may read or change: something leaves
// the system to it, or keys come from it. A key in it would show in logs, so
// that there is no query.
func safe(field *string) parser {
	return parser{"a URL with https, or with http to this machine, without query; or nothing", func(value string) error {
		if value == "" {
			return nil
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("is not such a URL")
		}
		if !auth.SafeAddress(u) {
			return errors.New("is not protected by TLS")
		}
		*field = value
		return nil
	}}
}

// mailServer reads where mail goes. A password has a setting of its own.
func mailServer(field *string) parser {
	return parser{"a URL with smtp or smtps, a host and a port; or nothing", func(value string) error {
		u, err := url.Parse(value)
		if value != "" && (err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
			return errors.New("is not such a URL")
		}
		*field = value
		return nil
	}}
}

// mailbox reads an address of mail, which may have a name.
func mailbox(field *string) parser {
	return parser{"such as Fabrikam <noreply@example.com>, or nothing", func(value string) error {
		if value != "" {
			if _, err := mail.ParseAddress(value); err != nil {
				return errors.New("is no address")
			}
		}
		*field = value
		return nil
	}}
}

// reference reads a URI reference (RFC 3986, section 4.1).
func reference(field *string) parser {
	return parser{"a URI reference", func(value string) error {
		if _, err := url.Parse(value); err != nil || strings.ContainsFunc(value, unicode.IsSpace) {
			return errors.New("is not one")
		}
		*field = value
		return nil
	}}
}

func secret(field *Secret) parser {
	return parser{"a secret, or nothing", func(value string) error {
		*field = NewSecret(value)
		return nil
	}}
}

func level(field *slog.Level) parser {
	return parser{"debug, info, warn or error", func(value string) error {
		switch strings.ToLower(value) {
		case "debug", "info", "warn", "error":
			return field.UnmarshalText([]byte(value))
		}
		return errors.New("is not a level")
	}}
}

// choice reads one of some values.
func choice[T ~string](field *T, values ...T) parser {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return parser{"one of " + strings.Join(names, ", "), func(value string) error {
		if !slices.Contains(names, value) {
			return errors.New("is none of them")
		}
		*field = T(value)
		return nil
	}}
}

// accountClaim reads the name of a claim. To bind nothing must be said in a word.
func accountClaim(field *string) parser {
	name := regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,200}$`)
	return parser{"a claim's name, or none", func(value string) error {
		if !name.MatchString(value) {
			return errors.New("is not a claim's name")
		}
		if *field = value; value == "none" {
			*field = ""
		}
		return nil
	}}
}

func truth(field *bool) parser {
	return parser{"true or false", func(value string) error {
		if value != "true" && value != "false" {
			return errors.New("is neither")
		}
		*field = value == "true"
		return nil
	}}
}

// list reads values with commas between them.
func list(field *[]string) parser {
	return parser{"values separated by commas, or nothing", func(value string) error {
		var values []string
		for v := range strings.SplitSeq(value, ",") {
			if v = strings.TrimSpace(v); v != "" {
				values = append(values, v)
			} else if value != "" {
				return errors.New("has an empty value")
			}
		}
		*field = values
		return nil
	}}
}
