import { generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { exportPublicKey } from '../../ledger/note-key.ts'
import { statementBytes } from './thought.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const OTHER_KEY = `${'A'.repeat(43)}=`

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

async function signs(agent: string, content: string, key: KeyObject = privateKey): Promise<void> {
  const statement = { agent_id: agent, content, task_id: 'T-1', type: 'plan' } as const
  const value = sign(null, statementBytes(statement), key).toString('base64')
  const public_key = Buffer.from(exportPublicKey(key)).toString('base64')
  await rig.data('thought_record', { ...statement, signature: { public_key, value } })
}

async function findings(): Promise<unknown> {
  const { findings: found, valid } = await rig.data('ledger_verify', { full: true })
  expect(valid).toBe((found as string[]).length === 0)
  return found
}

describe('the keys of agents, held against the ledger', () => {
  it('are in order however often an agent has signed', async () => {
    await rig.data('thought_record', { agent_id: 'ada', content: 'Unsigned.', task_id: 'T-1', type: 'plan' })
    for (const words of ['One.', 'Two.', 'Three.']) await signs('ada', words)
    await signs('grace', 'Another agent.', generateKeyPairSync('ed25519').privateKey)
    await rig.data('thought_record', { agent_id: 'linus', content: 'Never signs.', task_id: 'T-1', type: 'plan' })
    expect(await findings()).toEqual([])
  })

  it('are found out when one was taken away, and anybody can write under that name', async () => {
    await signs('ada', 'One.')
    await signs('ada', 'Two.')
    rig.tamper(`DELETE FROM agent_keys`)
    await rig.data('thought_record', { agent_id: 'ada', content: 'Not hers.', task_id: 'T-1', type: 'plan' })
    expect(await findings()).toEqual([
      'Entry 2 was written while the agent key ada was not what the ledger says.',
      'The agent key ada was removed; the ledger has it (entry 0).',
    ])
  })

  it('are found out when one was away for a moment, and is back', async () => {
    await signs('ada', 'One.')
    rig.tamper(`CREATE TABLE aside AS SELECT * FROM agent_keys; DELETE FROM agent_keys`)
    await rig.data('thought_record', { agent_id: 'ada', content: 'Not hers.', task_id: 'T-1', type: 'plan' })
    rig.tamper(`INSERT INTO agent_keys SELECT * FROM aside; DROP TABLE aside`)
    await signs('ada', 'Two.')
    expect(await findings()).toEqual(['Entry 1 was written while the agent key ada was not what the ledger says.'])
  })

  it('are found out when one was exchanged, also by one that signs from then on', async () => {
    await signs('ada', 'One.')
    const thief = generateKeyPairSync('ed25519').privateKey
    rig.tamper(`UPDATE agent_keys SET public_key = '${Buffer.from(exportPublicKey(thief)).toString('base64')}'`)
    const finding = 'The agent key ada is not what the ledger says (entry 0): public_key.'
    expect(await findings()).toEqual([finding])
    await signs('ada', 'Not hers.', thief)
    expect(await findings()).toEqual([
      'Entry 1 was written while the agent key ada was not what the ledger says.',
      finding,
    ])
  })

  it('are found out when one says another entry, or was added for an agent that never signed', async () => {
    await signs('ada', 'One.')
    await signs('ada', 'Two.')
    rig.tamper(`UPDATE agent_keys SET log_index = 1;
      INSERT INTO agent_keys VALUES ('', '${OTHER_KEY}', 0), ('linus', '${OTHER_KEY}', 0)`)
    expect(await findings()).toEqual([
      'The agent key  was added; the ledger does not have it.',
      'The agent key ada is not what the ledger says (entry 0): log_index.',
      'The agent key linus was added; the ledger does not have it.',
    ])
  })
})
