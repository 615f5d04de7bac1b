import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { parseSkill } from './skill-document.ts'

const BLEED =
  '---\nname: bleed-radiators\ndescription: Get the air out\nversion: 1.5\ncapabilities: [read, write]\nowner: Ada\n---\nOpen the valve.\n'

let root: string
let rig: Rig
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-skills-'))
  rig = await runtimeRig({ config: { skillRoots: [root] } })
})
afterEach(() => {
  rig.close()
  rmSync(root, { recursive: true })
})

function write(folder: string, text: string | Buffer): string {
  const path = join(root, folder, 'SKILL.md')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

function list(args: Record<string, string | boolean> = {}): Promise<Record<string, unknown>> {
  return rig.data('skill_list', args)
}

describe('skill_list', () => {
  it('reads SKILL.md in each folder and keeps unknown frontmatter fields', async () => {
    const path = write('bleed', BLEED)
    expect(await list()).toEqual({
      skills: [
        {
          name: 'bleed-radiators',
          description: 'Get the air out',
          version: '1.5',
          entrypoint: null,
          capabilities: ['read', 'write'],
          greek_letter: null,
          source_path: path,
          content_hash: '25d36539f740067c202a84ca608cf37a2bf1410b1eb67c15cc6b4dca01dda588',
          loaded_at: '2026-01-01T00:00:00.000Z',
          log_index: 0,
          frontmatter: {
            name: 'bleed-radiators',
            description: 'Get the air out',
            version: 1.5,
            capabilities: ['read', 'write'],
            owner: 'Ada',
          },
        },
      ],
      total: 1,
      skipped: [],
    })
    expect(await list({ include_body: true })).toMatchObject({ skills: [{ body: 'Open the valve.\n' }] })
  })

  it.each([
    ['1.10', '1.10'],
    ['1.0', '1.0'],
    ['"2.0"', '2.0'],
    ['1.2.3', '1.2.3'],
    ['7', '7'],
  ])('shows the version %s as it is written', async (written, version) => {
    write('vent', `---\nname: vent\ndescription: Open the windows\nversion: ${written} # since May\n---\n`)
    expect(await list()).toMatchObject({ skills: [{ version }] })
  })

  it('searches names and descriptions ignoring case, and capabilities exactly', async () => {
    write('bleed', BLEED)
    write('vent', '---\nname: vent\ndescription: Open the windows\ncapabilities: [audit]\n---\n')
    const names = async (args: Record<string, string>): Promise<unknown> =>
      ((await list(args))['skills'] as { name: string }[]).map(({ name }) => name)
    expect(await names({ search: 'THE AIR' })).toEqual(['bleed-radiators'])
    expect(await names({ search: 'VENT' })).toEqual(['vent'])
    expect(await names({ capability: 'audit' })).toEqual(['vent'])
    expect(await names({})).toEqual(['bleed-radiators', 'vent'])
    expect(await rig.error('skill_list', { capability: 'fly' })).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('notices a change at the next call and records it in the ledger', async () => {
    write('bleed', BLEED)
    await list()
    await list()
    expect(rig.entries('skill.change')).toHaveLength(1)
    write('bleed', BLEED.replace('Open', 'Close'))
    await list()
    rmSync(join(root, 'bleed'), { recursive: true })
    expect(await list()).toMatchObject({ skills: [], total: 0 })
    const changes = rig.entries('skill.change')
    expect(changes.map(({ change }) => change)).toEqual(['added', 'changed', 'removed'])
    expect(changes[1]?.['previous_hash']).toBe(changes[0]?.['content_hash'])
    expect(changes[2]?.['previous_hash']).toBe(changes[1]?.['content_hash'])
  })

  it('notices a change that kept size and modification time', async () => {
    const path = write('bleed', BLEED)
    utimesSync(path, 1, 1)
    await list()
    write('bleed', BLEED.replace('valve', 'valve'.toUpperCase()))
    utimesSync(path, 1, 1)
    expect(await list({ include_body: true })).toMatchObject({ skills: [{ body: 'Open the VALVE.\n' }] })
  })

  it('notices at start what changed while the gateway was stopped', async () => {
    write('bleed', BLEED)
    await list()
    rig.database.close()
    write('bleed', BLEED.replace('Open', 'Close'))
    const again = await runtimeRig({ folder: rig.folder, config: { skillRoots: [root] } })
    expect(again.entries('skill.change').map(({ change }) => change)).toEqual(['added', 'changed'])
    again.close()
  })

  it('records a change against the last hash in the ledger, which refuses another previous hash', async () => {
    write('bleed', BLEED)
    await list()
    write('bleed', BLEED.replace('Open', 'Break'))
    await list()
    expect(rig.entries('skill.change').map(({ change }) => change)).toEqual(['added', 'changed'])
    const forged = { kind: 'skill.change', name: 'bleed-radiators', source_path: '/tmp', previous_hash: 'another' }
    await expect(rig.ledger.append(forged)).rejects.toThrow('skill bleed-radiators was another before')
  })

  it('skips an invalid file with a reason and lists the valid ones', async () => {
    write('bleed', BLEED)
    const bad = {
      'a-name': '---\nname: X\ndescription: d\n---\n',
      'b-none': 'just text',
      'c-yaml': '---\nname: [unclosed\n---\n',
      'd-bytes': Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]),
      'e-large': `---\nname: large\ndescription: d\n---\n${'x'.repeat(262_144)}`,
      'f-list': '---\n- one\n---\n',
      'g-twice': BLEED,
      'h-greek': '---\nname: greek\ndescription: d\ngreekLetter: ω\n---\n',
      'k-half': '---\nname: half\ndescription: d\nauthor: {name: "\\uD83D"}\n---\n',
    }
    for (const [folder, text] of Object.entries(bad)) write(folder, text)
    mkdirSync(join(root, 'i-folder', 'SKILL.md'), { recursive: true })
    mkdirSync(join(root, 'j-empty'))
    const { skills, skipped } = await list()
    expect(skills).toMatchObject([{ name: 'bleed-radiators' }])
    expect(skipped).toEqual([
      { path: join(root, 'a-name/SKILL.md'), reason: 'name: lower-case letters, digits and dashes, at least two' },
      { path: join(root, 'b-none/SKILL.md'), reason: expect.stringContaining('does not begin with frontmatter') },
      { path: join(root, 'c-yaml/SKILL.md'), reason: expect.stringContaining('not YAML') },
      { path: join(root, 'd-bytes/SKILL.md'), reason: 'is not UTF-8' },
      { path: join(root, 'e-large/SKILL.md'), reason: 'is larger than 262144 bytes' },
      { path: join(root, 'f-list/SKILL.md'), reason: 'has frontmatter that is not a mapping' },
      { path: join(root, 'g-twice/SKILL.md'), reason: `has the name of ${join(root, 'bleed/SKILL.md')}` },
      { path: join(root, 'h-greek/SKILL.md'), reason: expect.stringContaining('greekLetter') },
      { path: join(root, 'i-folder/SKILL.md'), reason: 'is not a file' },
      { path: join(root, 'k-half/SKILL.md'), reason: 'has half a character in its frontmatter' },
    ])
  })

  it('skips a SKILL.md that links to an endless device', async () => {
    mkdirSync(join(root, 'endless'))
    symlinkSync('/dev/zero', join(root, 'endless', 'SKILL.md'))
    expect(await list()).toMatchObject({ skills: [], skipped: [{ reason: 'is not a file' }] })
  })

  it('follows a link to a skill folder outside the root', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'hearthbus-skill-'))
    writeFileSync(join(outside, 'SKILL.md'), BLEED)
    symlinkSync(outside, join(root, 'linked'))
    expect(await list()).toMatchObject({ total: 1 })
    rmSync(outside, { recursive: true })
  })

  it('reports a root folder that does not exist', async () => {
    rmSync(root, { recursive: true })
    expect(await list()).toMatchObject({ skills: [], skipped: [{ path: root, reason: 'cannot be listed: ENOENT' }] })
    mkdirSync(root)
  })
})

describe('frontmatter', () => {
  it('is parsed with CRLF line ends and a byte order mark', () => {
    const bytes = Buffer.from(`\uFEFF${BLEED.replaceAll('\n', '\r\n')}`)
    expect(parseSkill(bytes)).toMatchObject({
      ok: true,
      value: { name: 'bleed-radiators', body: 'Open the valve.\r\n' },
    })
  })

  it('with a YAML alias bomb is refused', () => {
    const layers = Array.from({ length: 9 }, (_, depth) => `l${depth + 1}: &l${depth + 1} [${`*l${depth},`.repeat(9)}]`)
    const text = `---\nname: bomb\ndescription: d\nl0: &l0 [boom]\n${layers.join('\n')}\n---\n`
    expect(parseSkill(Buffer.from(text))).toMatchObject({ ok: false, fault: expect.stringContaining('alias') })
  })

  it('never makes the parser throw, whatever the bytes are', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.string().map((text) => Buffer.from(`---\n${text}\n---\n`)),
        ),
        (bytes) => {
          expect(typeof parseSkill(bytes).ok).toBe('boolean')
        },
      ),
    )
  })
})
