/**
 * A client that starts `hearthbus mcp` while a gateway runs reaches that gateway: one ledger, two clients.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectHttp, connectStdio, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'

let home: Home
let gateway: GatewayProcess
beforeEach(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home)
})
afterEach(async () => {
  await gateway.stop()
  home.remove()
})

describe.each(['modern', 'legacy'] as const)('stdio beside a running gateway, %s client', (era) => {
  it('shows the same tools, and records in the same ledger', async () => {
    const viaHttp = await connectHttp(gateway.url, era)
    const viaStdio = await connectStdio(home, era)
    const names = async (client: typeof viaHttp): Promise<string[]> =>
      (await client.listTools()).tools.map((tool) => tool.name)
    expect(await names(viaStdio)).toEqual(await names(viaHttp))
    const created = await viaStdio.callTool({ name: 'task_create', arguments: { title: 'over the bridge' } })
    const { data } = created.structuredContent as { data: { id: string } }
    const found = await viaHttp.callTool({ name: 'task_get', arguments: { id: data.id } })
    expect(found.structuredContent).toMatchObject({ ok: true, data: { title: 'over the bridge' } })
    await viaStdio.close()
    await viaHttp.close()
  })

  it('continues after the gateway was restarted, also on another port', async () => {
    const client = await connectStdio(home, era)
    const ping = async (): Promise<unknown> =>
      (await client.callTool({ name: 'server_ping', arguments: {} })).structuredContent
    expect(await ping()).toMatchObject({ ok: true })
    await gateway.stop()
    await expect(ping()).rejects.toThrow('no gateway runs any more')
    gateway = await startGatewayProcess(home)
    expect(await Promise.all([ping(), ping(), ping()])).toMatchObject([{ ok: true }, { ok: true }, { ok: true }])
    await client.close()
  })
})

describe('stdio beside a running gateway', () => {
  it('reports an unknown profile with the gateway’s message', async () => {
    await expect(connectStdio(home, 'legacy', ['--profile', 'nope'])).rejects.toThrow(
      /The gateway refused this: .*There is no such profile\. hearthbus profiles lists them\./,
    )
  })
})
