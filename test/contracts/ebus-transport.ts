/**
 * eBUS transport contract: bytes both ways, and a loss that is an end, never an exception.
 */
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../src/core/bytes.ts'
import type { ByteConnection, ByteConnector } from '../../src/ebus/adapter/transport.ts'

export interface FarEnd {
  readonly transport: ByteConnector
  /** What has arrived there, as hex. */
  readonly received: () => string
  readonly send: (bytes: Uint8Array) => void
  /** Hangs up. */
  readonly vanish: () => void
  readonly close: () => Promise<void> | void
}

export interface TransportContractOptions {
  readonly open: () => Promise<FarEnd>
  /** Leads nowhere. */
  readonly nowhere: () => ByteConnector
  /** Whether a far end that hangs up can be noticed. */
  readonly noticesLoss: boolean
}

export function transportContract(name: string, { open, nowhere, noticesLoss }: TransportContractOptions): void {
  describe(`transport over ${name}`, () => {
    async function connected(): Promise<{ far: FarEnd; connection: ByteConnection }> {
      const far = await open()
      const result = await far.transport.connect(new AbortController().signal)
      if (!result.ok) throw new Error(result.fault.reason)
      return { far, connection: result.value }
    }

    it('carries every byte value in order, in both directions', async () => {
      const { far, connection } = await connected()
      const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      connection.write(all)
      await until(() => far.received().includes(toHex(all)))
      far.send(all)
      let heard = ''
      for await (const bytes of connection.received) {
        heard += toHex(bytes)
        if (heard.length >= 512) break
      }
      expect(heard).toBe(toHex(all))
      connection.close()
      await far.close()
    })

    it.runIf(noticesLoss)('ends with a reason when the far end hangs up, and drops later writes', async () => {
      const { far, connection } = await connected()
      connection.write(fromHex('55'))
      await until(() => far.received().includes('55'))
      far.vanish()
      for await (const _ of connection.received) continue
      expect(connection.endReason()).not.toBe('')
      connection.write(fromHex('aa'))
      await far.close()
    })

    it('ends with a reason when the caller closes it', async () => {
      const { far, connection } = await connected()
      const ended = (async () => {
        for await (const _ of connection.received) continue
      })()
      connection.close()
      connection.close()
      await ended
      expect(connection.endReason()).toBe('closed by us')
      await far.close()
    })

    it('reports a fault instead of throwing when nothing listens at the address', async () => {
      const result = await nowhere().connect(AbortSignal.timeout(5_000))
      // A datagram socket only learns it from the first datagram.
      if (result.ok) for await (const _ of result.value.received) continue
      expect(result.ok ? result.value.endReason() : result.fault.reason).not.toBe('')
    })

    it('does not connect when the caller has aborted', async () => {
      const far = await open()
      const result = await far.transport.connect(AbortSignal.abort())
      expect(result).toMatchObject({ ok: false, fault: { kind: 'unreachable' } })
      await far.close()
    })
  })
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 5) {
    if (waited > 10_000) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
