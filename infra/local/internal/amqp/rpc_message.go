package amqp

import "fmt"

// request is one message to a request link.
type request struct {
	address    string
	id         any    // message-id, of whatever type
	replyTo    string // "" when absent
	properties map[string]any
	body       any // the amqp-value section's value, nil if none
}

// property returns an application property that is a string, "" otherwise.
func (r *request) property(name string) string {
	s, _ := r.properties[name].(string)
	return s
}

// parseRequest decodes a request (part 3, section 3.2).
func parseRequest(payload []byte) (*request, error) {
	r := &request{}
	d := decoder{b: payload}
	for len(d.b) > 0 && d.err == nil {
		switch code := d.descriptor(); {
		case d.err != nil:
		case code < descFirstSection || code > descLastSection:
			return nil, fmt.Errorf("request: descriptor 0x%x where a section belongs", code)
		case len(d.b) > 0 && d.b[0] == codeNull:
			d.b = d.b[1:] // as if the section were absent
		case code == descProperties:
			r.readProperties(&d)
		case code == descApplicationProperties:
			r.properties, _ = d.value(0).(map[string]any)
		case code == descValue:
			r.body = d.value(0)
		default:
			_ = d.value(0)
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("request: %w", d.err)
	}
	return r, nil
}

func (r *request) readProperties(d *decoder) {
	f := d.list()
	if f.present() {
		r.id = f.value(0)
	}
	f.skip() // user-id
	f.skip() // to
	f.skip() // subject
	if f.present() {
		r.replyTo, _ = f.value(0).(string)
	}
	if f.err != nil && d.err == nil {
		d.err = f.err
	}
}

// encodeReply encodes a response. The correlation-id is the request's
// message-id as it came, of whatever type. The names are the AMQP Management
// draft's (section 3.2), which $cbs and Event Hubs use, and those of Service
// Bus beside them: each SDK reads its own.
func encodeReply(correlationID any, r Response) []byte {
	properties := map[string]any{
		"status-code": r.Status, "statusCode": r.Status,
		"status-description": r.Description, "statusDescription": r.Description,
	}
	if r.Condition != "" {
		properties["error-condition"] = Symbol(r.Condition)
		properties["errorCondition"] = Symbol(r.Condition)
	}
	payload, err := appendReply(correlationID, properties, r.Body)
	if err != nil {
		return encodeReply(correlationID, Response{Status: 500, Description: fmt.Sprintf("encode response: %v", err), Condition: CondInternalError})
	}
	return payload
}

func appendReply(correlationID any, properties map[string]any, body any) ([]byte, error) {
	c := beginComposite(nil, descProperties)
	c.null(5) // message-id, user-id, to, subject, reply-to
	c.field()
	b, err := appendValue(c.b, correlationID)
	if err != nil {
		return nil, err
	}
	c.b = b
	c.null(7) // content-type to reply-to-group-id
	b = append(c.end(), codeDescribed, codeSmallUlong, descApplicationProperties)
	if b, err = appendValue(b, properties); err != nil {
		return nil, err
	}
	return appendValue(append(b, codeDescribed, codeSmallUlong, descValue), body)
}
