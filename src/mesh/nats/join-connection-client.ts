/**
 * Join connection client: a connection to NATS for as long as it takes to ask for admission.
 */
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { NodeIdentity } from '../identity/node-key.ts'
import { NatsLink } from './nats-link-client.ts'
import { NatsCallClient } from './nats-call-client.ts'

export interface NatsJoinConnection {
  readonly caller: NatsCallClient
  readonly close: () => Promise<void>
}

const CONNECT_MS = 5_000

/** Also without a connection: asking then says that nobody can be reached. */
export async function openNatsJoinConnection(options: {
  readonly servers: readonly string[]
  readonly useNkey: boolean
  readonly identity: NodeIdentity
  readonly name: string
  readonly communityId: string
}): Promise<NatsJoinConnection> {
  const { promise: connected, resolve } = Promise.withResolvers<void>()
  const link = new NatsLink(
    { ...options, clock: systemClock, logger: silentLogger },
    { onUp: () => resolve(), onDown: () => undefined },
  )
  const caller = new NatsCallClient({ link, self: options.identity.id })
  link.start()
  const impatience = setTimeout(resolve, CONNECT_MS)
  await connected
  clearTimeout(impatience)
  caller.subscribe(options.communityId)
  return {
    caller,
    close: async () => {
      caller.close()
      await link.close()
    },
  }
}
