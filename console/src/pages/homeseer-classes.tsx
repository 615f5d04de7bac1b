/** HomeSeer classes: what every device is taken for and why, corrected by the owner in one step. */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { useAttempt } from '../core/attempt.ts'
import { correctClass, readClasses } from '../core/homeseer.ts'
import type { DeviceClass } from '../core/homeseer.ts'
import { useLoad } from '../core/load.ts'
import { Section } from '../parts/frame.tsx'
import { Empty, Flaw, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Badge } from '../parts/words.tsx'

/** Gives the device back to what it is recognised by. */
const RECOGNISED = ''

export function DeviceClassesSection(): JSX.Element {
  // Classes do not follow values: they are read once, and again after a correction.
  const classes = useLoad(readClasses, [])
  const [onlyAsking, setOnlyAsking] = useState(false)
  const { flaw, busy, attempt } = useAttempt()
  const devices = classes.value?.devices
  const shown = useMemo(() => (devices ?? []).filter(({ asks }) => asks || !onlyAsking), [devices, onlyAsking])
  const correct = (device: DeviceClass, kind: string): void =>
    void attempt(async () => {
      await correctClass(device.ref, kind === RECOGNISED ? undefined : kind)
      classes.reload()
    })
  return (
    <Section
      title="What devices are taken for"
      note="A lock, a door or an alarm waits for a person. Correct what was recognised wrongly; it holds at once."
    >
      <label class="field inline">
        <input
          type="checkbox"
          checked={onlyAsking}
          onChange={({ currentTarget }) => setOnlyAsking(currentTarget.checked)}
        />
        only those that ask a person
      </label>
      <Flaw text={flaw} />
      <Shown of={classes} what="HomeSeer">
        {({ kinds }) => (
          <Table
            label="What HomeSeer’s devices are taken for"
            rows={shown}
            rowKey={({ ref }) => String(ref)}
            height={420}
            empty={<Empty title="No device asks a person." />}
            columns={[
              { name: 'Ref', width: '5rem', minor: true, cell: ({ ref }) => <span class="mono">{ref}</span> },
              {
                name: 'Name',
                width: 'minmax(0,2fr)',
                cell: ({ name, asks }) => (
                  <>
                    <bdi>{name}</bdi> {asks ? <Badge tone="warn">asks</Badge> : null}
                  </>
                ),
              },
              {
                name: 'Is',
                width: '10rem',
                cell: (device) => (
                  <select
                    aria-label={`What ${device.name} is`}
                    disabled={busy}
                    value={device.kind}
                    onChange={({ currentTarget }) => correct(device, currentTarget.value)}
                  >
                    {kinds.map((kind) => (
                      <option key={kind} value={kind}>
                        {kind}
                      </option>
                    ))}
                    {device.corrected ? <option value={RECOGNISED}>as recognised</option> : null}
                  </select>
                ),
              },
              {
                name: 'Because',
                width: 'minmax(0,3fr)',
                minor: true,
                cell: ({ because }) => (
                  <bdi title={because}>{because === '' ? 'nothing speaks for more' : because}</bdi>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}
