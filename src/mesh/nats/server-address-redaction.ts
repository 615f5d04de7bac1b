/**
 * Server address redaction: the address of a NATS server in a form that may be shown, without a name or password in it.
 */
export function redactServerAddress(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?[^/\s]*@/i, '$1')
}
