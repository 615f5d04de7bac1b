/**
 * Listen fault: why a listener cannot be opened, in a sentence that names the settings to change. A start says it, and
 * so does the doctor before the start.
 */
import { systemErrorCode, thrownMessage } from '../core/thrown.ts'

export interface ListenSettings {
  /** The key of the configuration that sets the host, such as `listen.host`. */
  readonly hostKey: string
  readonly host: string
  readonly portKey: string
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
}

export function explainListenFault(error: unknown, settings: ListenSettings): string {
  const { hostKey, host, portKey, port, protocol } = settings
  const portName = protocol === 'udp' ? `UDP port ${port}` : `Port ${port}`
  switch (systemErrorCode(error)) {
    case 'EADDRINUSE':
      return `${portName} belongs to another program. Stop that, or set ${portKey}.`
    case 'EADDRNOTAVAIL':
      return `${hostKey} is ${host}, which is no address of this machine.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${hostKey} is ${host}, a name that does not resolve. Set an address of this machine.`
    case 'EACCES':
      return `${portName} may only be used by root. Set ${portKey} to one above 1023.`
    default:
      return `${portName} of ${host} cannot be opened (${thrownMessage(error)}). Check ${hostKey} and ${portKey}.`
  }
}
