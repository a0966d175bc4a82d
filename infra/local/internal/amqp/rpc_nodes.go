package amqp

import "context"

// putToken answers a request to $cbs (OASIS AMQP Claims-based Security 1.0
// draft, section 3.2.1; Microsoft Learn, "AMQP 1.0 in Azure Service Bus and
// Event Hubs protocol guide", claims-based authorization).
func (c *conn) putToken(ctx context.Context, r *request) (Response, error) {
	if operation := r.property("operation"); operation != "put-token" {
		return Response{}, Errorf(CondNotImplemented, "operation %q of %s", operation, cbsAddress)
	}
	token := Token{
		Conn:     c.info,
		Audience: r.property("name"),
		Type:     r.property("type"),
	}
	switch v := r.body.(type) {
	case string:
		token.Value = v
	case []byte:
		token.Value = string(v)
	}
	switch {
	case token.Audience == "":
		return Response{}, Errorf(CondArgumentError, "put-token without the property name")
	case token.Type == "":
		return Response{}, Errorf(CondArgumentError, "put-token without the property type")
	case token.Value == "":
		return Response{}, Errorf(CondArgumentError, "put-token whose body is no string")
	}
	if err := c.server.service.PutToken(ctx, token); err != nil {
		return Response{}, err
	}
	return Response{Status: 202, Description: "Accepted"}, nil
}

// manage answers a request to a $management node.
func (c *conn) manage(ctx context.Context, r *request) (Response, error) {
	return c.server.service.Request(ctx, Request{
		Conn:       c.info,
		Address:    r.address,
		Properties: r.properties,
		Body:       r.body,
	})
}

// failed is the response that tells an error.
func failed(err error) Response {
	status, description := StatusOf(err)
	return Response{Status: status, Description: description, Condition: asError(err).Condition}
}
