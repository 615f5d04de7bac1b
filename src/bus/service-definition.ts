/**
 * Service definition: a service that needs nothing but its capabilities, for programs that put one of their own on the
 * bus. A service that opens and closes something defines `start` and `stop`.
 */
import type { Capability, Service } from './capability.ts'

export interface ServiceDefinition extends Partial<Omit<Service, 'name' | 'capabilities'>> {
  readonly name: string
  /** By default every name begins with the service's name and a dot. */
  readonly capabilities: readonly Capability[]
}

export function defineService({ name, capabilities, ...rest }: ServiceDefinition): Service {
  return {
    name,
    prefixes: [`${name}.`],
    capabilities: () => capabilities,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    health: () => ({ status: 'ok', details: {} }),
    ...rest,
  }
}
