/**
 * What the owner decides at the command line takes effect at once, and can be taken back.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectHttp, createHome, readCommandSync, startGatewayProcess } from '../gateway-process.ts'
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

function hearthbus(...words: readonly string[]): string {
  return readCommandSync(home, ...words).trim()
}

describe('the owner at the command line', () => {
  it('stops all changes, and allows them again', async () => {
    const client = await connectHttp(gateway.url, 'modern')
    const create = async (): Promise<boolean> =>
      (await client.callTool({ name: 'task_create', arguments: { title: 'x' } })).isError === true
    expect(hearthbus('stop', 'smoke', 'in', 'the', 'kitchen')).toContain('Stopped')
    expect(await create()).toBe(true)
    expect(hearthbus('resume')).toBe('Changes are possible again.')
    expect(await create()).toBe(false)
    await client.close()
  })

  it('creates a token, and revokes it', async () => {
    const { token } = JSON.parse(hearthbus('--json', 'token', 'create', 'phone', '--role', 'observer')) as {
      token: string
    }
    const client = await connectHttp(gateway.url, 'modern', '/mcp', token)
    expect((await client.callTool({ name: 'server_ping' })).isError).not.toBe(true)
    expect(hearthbus('token', 'revoke', 'phone')).toBe('phone is refused from now on.')
    await expect(client.callTool({ name: 'server_ping' })).rejects.toThrow('is not valid here, or no longer')
    await client.close()
  })
})
