/**
 * Credentials as their owner handles them: made before the first start, shown by clients, refused when they are gone.
 */
import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLI, connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'

let home: Home
beforeEach(() => {
  home = createHome('  host: 0.0.0.0\n  anonymous: off\n')
})
afterEach(() => home.remove())

function cli(...args: readonly string[]): {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
} {
  return spawnSync(process.execPath, [CLI, ...args, '--data', home.data, '--config', home.config], { encoding: 'utf8' })
}

describe('a node that others can reach', () => {
  it('does not start without a token, lets the first one be made beforehand, and serves whoever shows it', async () => {
    const refused = cli('up')
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('hearthbus token create')])
    const [token = ''] = cli('token', 'create', 'claude', '--role', 'observer').stdout.split('\n')
    const gateway = await startGatewayProcess(home)
    const url = gateway.url.replace('0.0.0.0', '127.0.0.1')
    await expect(connectHttp(url, 'legacy')).rejects.toThrow('token')
    const client = await connectHttp(url, 'modern', '/mcp', token)
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name)).toContain('server_ping')
    expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true)
    await client.close()
    expect(cli('token', 'revoke', 'claude').status).toBe(0)
    await expect(connectHttp(url, 'modern', '/mcp', token)).rejects.toThrow('403')
    await gateway.stop()
  })
})
