/**
 * Loopback: the names and addresses that only this machine answers to.
 */
import { isIP } from 'node:net'

/** `localhost`, 127.0.0.0/8 and ::1, also with brackets, or as IPv4 inside IPv6. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  const address = plain.startsWith('::ffff:') ? plain.slice('::ffff:'.length) : plain
  return plain === 'localhost' || plain === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}
