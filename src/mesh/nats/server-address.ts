/**
 * Server address: the address of a NATS server as everybody may read it, without the name and password it may hold.
 */
export function redactServerAddress(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?[^/\s]*@/i, '$1')
}
