/**
 * Loopback: the names and addresses that only this machine answers to.
 */
import { isIP } from 'node:net'

/** `localhost`, 127.0.0.0/8 and ::1, also with brackets, or as IPv4 inside IPv6. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  const address = plain.startsWith('::ffff:') ? plain.slice('::ffff:'.length) : plain
  const isFourInSix = plain !== address && /^7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(address)
  return plain === 'localhost' || plain === '::1' || isFourInSix || (isIP(address) === 4 && address.startsWith('127.'))
}
