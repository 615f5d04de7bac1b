/**
 * Device tools: what one device can do, each with a form made from the device's own schema; and what is withheld
 * because the device describes it otherwise than before.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ToolView } from '../../../src/web/views.ts'
import { ask } from '../core/ask.ts'
import { useAttempt } from '../core/attempt.ts'
import { listAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { isAdmin, registryTurn } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { Section } from './frame.tsx'
import { JsonTree } from './json-tree.tsx'
import { Empty, Flaw, Shown } from './states.tsx'
import { ToolRunner } from './tool-runner.tsx'
import { Badge, EffectBadge, Prose } from './words.tsx'

export function DeviceTools({ device }: { readonly device: string }): JSX.Element {
  const listed = useLoad(
    async () => (await ask('devices.tools.list', { device })).data,
    [device, registryTurn.value],
    2_000,
  )
  const { flaw, attempt } = useAttempt()
  const accept = (digest: string): Promise<void> =>
    attempt(async () => {
      await ask('devices.enrolment.approve_tools', { device, digest })
      listed.reload()
    })
  return (
    <Shown of={listed} what="Its tools">
      {(data) => {
        const withheld = listAt(data, 'withheld')
        const digest = stringAt(data, 'digest')
        return (
          <>
            {withheld.length === 0 ? null : (
              <Section title="Withheld" note="New, or described differently than when it was accepted.">
                <ul class="tool-list">
                  {withheld.map((tool) => (
                    <li key={stringAt(tool, 'tool')}>
                      <details>
                        <summary>
                          <code>{line(stringAt(tool, 'tool') ?? '')}</code>{' '}
                          <Badge tone="warn">{line(stringAt(tool, 'reason') ?? '', 20)}</Badge>
                        </summary>
                        <Prose text={stringAt(tool, 'description') ?? ''} />
                        <JsonTree value={tool} />
                      </details>
                    </li>
                  ))}
                </ul>
                <Flaw text={flaw} />
                {isAdmin.value && digest !== undefined ? (
                  <button type="button" onClick={() => void accept(digest)}>
                    Accept them as they are described here
                  </button>
                ) : null}
              </Section>
            )}
            <Section title="Tools" note="In the device’s own words.">
              {listAt(data, 'tools').length === 0 ? (
                <Empty title="It offers none at the moment." />
              ) : (
                <ul class="tool-list">
                  {listAt(data, 'tools').map((tool) => (
                    <DeviceTool key={stringAt(tool, 'capability')} tool={tool} />
                  ))}
                </ul>
              )}
            </Section>
          </>
        )
      }}
    </Shown>
  )
}

function DeviceTool({ tool }: { readonly tool: Json }): JSX.Element {
  const [open, setOpen] = useState(false)
  const capability = stringAt(tool, 'capability') ?? ''
  const view: ToolView = {
    name: capability,
    title: stringAt(tool, 'tool') ?? capability,
    description: stringAt(tool, 'description') ?? '',
    effect: stringAt(tool, 'effect') ?? '',
    family: 'devices',
    version: '',
    timeoutSeconds: 0,
    idempotent: false,
    params: {},
    profiles: [],
    inputSchema: objectAt(tool, 'input_schema'),
  }
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <code>{line(view.title)}</code> <EffectBadge effect={view.effect} />
        </summary>
        <Prose text={view.description} />
        {open ? <ToolRunner tool={view} /> : null}
      </details>
    </li>
  )
}
