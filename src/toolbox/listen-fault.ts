/**
 * Listen fault: why a listener cannot be opened, in a sentence that names the settings to change. Used by the start,
 * and by the doctor before the start.
 */
import type { ListenAddressSettings } from '../core/listen-address.ts'
import { readSystemErrorCode, readErrorMessage } from '../core/thrown-error.ts'

export function explainListenFault(error: unknown, settings: ListenAddressSettings): string {
  const { hostKey, host, portKey, port, protocol } = settings
  const portName = protocol === 'udp' ? `UDP port ${port}` : `Port ${port}`
  switch (readSystemErrorCode(error)) {
    case 'EADDRINUSE':
      return `${portName} belongs to another program. Stop that, or set ${portKey}.`
    case 'EADDRNOTAVAIL':
      return `${hostKey} is ${host}, which is not an address of this machine.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${hostKey} is ${host}, a name that does not resolve. Set an address of this machine.`
    case 'EACCES':
      return `${portName} may only be used by root. Set ${portKey} to one above 1023.`
    default:
      return `${portName} of ${host} cannot be opened (${readErrorMessage(error)}). Check ${hostKey} and ${portKey}.`
  }
}
