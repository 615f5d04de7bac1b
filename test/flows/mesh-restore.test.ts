/** An older copy of a node's whole data directory is put back, and another node remembers what came after it. */
import { cpSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetPin } from '../ledger-pins.ts'
import { runCommandSync } from '../gateway-process.ts'
import type { EndedCommand } from '../gateway-process.ts'
import { call, cli, closeAll, formCommunity, startAgain, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let cellar: MeshNode
let attic: MeshNode

beforeAll(async () => {
  const nodes = await formCommunity(['cellar', 'attic'])
  cellar = nodes[0] as MeshNode
  attic = nodes[1] as MeshNode
})
afterAll(() => closeAll([cellar, attic]))

describe('a node restored from an older copy of its data directory', () => {
  it('is reported by every command, and continues as another log on the owner’s command', async () => {
    await cosigned()
    await cellar.stop()
    const copy = `${cellar.home.data}-copy`
    cpSync(cellar.home.data, copy, { recursive: true })
    cellar = await startAgain(cellar)
    for (let id = 0; id < 5; id++) await call(cellar, 'test.count', { id: `later ${id}` })
    await cosigned()
    await cellar.stop()

    rmSync(cellar.home.data, { recursive: true })
    cpSync(copy, cellar.home.data, { recursive: true })
    rmSync(copy, { recursive: true })
    // All of the machine is put back: nothing on it knows better.
    forgetPin(cellar.home.data)
    cellar = await startAgain(cellar)
    await until('the other node has shown it', async () => (await state()) === 'refusing')
    // The state is there before the evidence is on disk, where the doctor finds it, and the line in the log after that.
    await until('the log says so', () =>
      cellar.log().includes('another node remembers a different ledger of this node'),
    )
    const refused = await call(cellar, 'test.count', { id: 'y' })
    expect(JSON.stringify(refused.structured)).toMatch(/an older copy of it was restored.*Nothing was done/)
    expect(JSON.stringify(refused.structured)).not.toContain('disk')
    const read = await call(cellar, 'server_ping')
    expect(JSON.stringify(read.structured)).toMatch(/an older copy of it was restored.*The answer is withheld/)
    const running = typed('doctor')
    expect(running.text).toMatch(/✗ ledger: There are \d+ entries, but \d+ were signed.*ledger adopt --new-log/)
    expect(running.text).toMatch(/✗ runtime: The ledger holds \d+ entries, but this node has signed \d+/)
    expect(typed('status').text).toMatch(/runtime +failing +advice The ledger holds/)
    await cellar.stop()
    expect(cellar.log().match(/another node remembers a different ledger of this node/g)).toHaveLength(1)

    expect(typed('doctor').text).toMatch(/✗ ledger: There are \d+ entries, but \d+ were signed/)
    await expect(startAgain(cellar)).rejects.toThrow(/an older copy of the database was restored/)
    expect(typed('ledger', 'adopt')).toMatchObject({ status: 5, text: expect.stringContaining('adopt --new-log') })

    const adopted = cli(cellar.home, 'ledger', 'adopt', '--new-log')
    expect(adopted).toMatchObject({
      ok: true,
      vkey: expect.stringMatching(/^hearthbus\.local\/cellar\/\d{8}T\d{6}Z\+/),
    })
    cli(cellar.home, 'ledger', 'verify')
    expect(typed('ledger', 'adopt').text).toMatch(/nothing to adopt/)
    cellar = await startAgain(cellar)
    expect((await call(cellar, 'test.count', { id: 'z' })).outcome).toBe('ok')
    await cosigned()
    expect((await call(cellar, 'test.count', { id: 'still' })).outcome).toBe('ok')
  })
})

/** Waits until the other node has cosigned the newest checkpoint, with everything in it. */
function cosigned(): Promise<void> {
  return until('the other node has cosigned all of it', async () => {
    const { checkpoint, size } = (await (await fetch(`${cellar.url}/api/ledger`)).json()) as {
      checkpoint: string | null
      size: number
    }
    return checkpoint?.split('\n')[1] === String(size) && checkpoint.includes('\n— hearthbus.local/witness/')
  })
}

async function state(): Promise<string> {
  const { ledger } = (await (await fetch(`${cellar.url}/api/status`)).json()) as { ledger: { state: string } }
  return ledger.state
}

function typed(...words: readonly string[]): EndedCommand {
  return runCommandSync(cellar.home, ...words)
}
