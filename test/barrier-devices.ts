/**
 * Barrier devices: doors, gates, alarms and similar devices as less common plug-ins present them, in many languages.
 * None of them uses the word `lock` as our own devices do.
 */
import {
  BINARY_SWITCH_CONTROLS,
  createSimulatedHomeseerDevice,
  type ControlPairOptions,
  type SimulatedHomeseerDevice,
  type SimulatedHomeseerDeviceOptions,
} from '../src/sim/homeseer/simulated-homeseer-device.ts'

function buttons(...labels: readonly (readonly [label: string, value: number])[]): readonly ControlPairOptions[] {
  return labels.map(([label, value]) => ({ label, value }))
}

const FIRST_REF = 400

/** One ref after the other. */
export function createBarrierDevices(): readonly SimulatedHomeseerDevice[] {
  return [...PLUG_INS, ...TONGUES].map((options, index) =>
    createSimulatedHomeseerDevice({ ...options, ref: FIRST_REF + index }),
  )
}

type Unplaced = Omit<SimulatedHomeseerDeviceOptions, 'ref'>

const PLUG_INS: readonly Unplaced[] = [
  {
    name: 'Main Cover',
    typeString: 'Z-Wave Barrier Operator',
    interfaceName: 'Z-Wave',
    pairs: buttons(['Closed', 0], ['Open', 255]),
  },
  {
    name: 'Partition 1',
    typeString: 'DSC Partition',
    interfaceName: 'Envisalink',
    pairs: buttons(['Arm Away', 1], ['Arm Stay', 2], ['Disarm', 0]),
    value: 1,
  },
  { name: 'Bay 2', typeString: 'Opener', interfaceName: 'MyQ', pairs: buttons(['On', 1], ['Off', 0]) },
  { name: 'Side Entrance', typeString: '', pairs: buttons(['Secured', 255], ['Unsecured', 0]), value: 255 },
  { name: 'House Mode', pairs: buttons(['Home', 0], ['Away', 1], ['Night', 2]), value: 1 },
  { name: 'Garage Relay', location: 'Cellar', pairs: BINARY_SWITCH_CONTROLS },
  { name: 'Chime', typeString: 'Z-Wave Sound Switch', interfaceName: 'Z-Wave', pairs: BINARY_SWITCH_CONTROLS },
  { name: 'Zone Bypass', interfaceName: 'Elk', pairs: BINARY_SWITCH_CONTROLS },
  { name: 'Bolt', interfaceName: 'August', pairs: BINARY_SWITCH_CONTROLS, value: 255 },
  { name: 'Main Water', typeString: 'Water Shutoff', pairs: buttons(['Open', 0], ['Close', 255]) },
]

/** One name and two labels for each language; the label that opens comes first. */
const TONGUES: readonly Unplaced[] = [
  { name: 'Porte d’entrée', pairs: buttons(['Déverrouiller', 0], ['Verrouiller', 255]), value: 255 },
  { name: 'Portail', pairs: buttons(['Ouvrir', 1], ['Fermer', 0]) },
  { name: 'Voordeur', pairs: buttons(['Ontgrendelen', 0], ['Vergrendelen', 255]), value: 255 },
  { name: 'Puerta principal', pairs: buttons(['Abrir', 0], ['Cerrar', 255]), value: 255 },
  { name: 'Cancello', pairs: buttons(['Apri', 1], ['Chiudi', 0]) },
  { name: 'Portão', pairs: buttons(['Abrir', 1], ['Fechar', 0]) },
  { name: 'Hoveddør', pairs: buttons(['Lås op', 0], ['Lås', 255]), value: 255 },
  { name: 'Ytterdörr', pairs: buttons(['Lås upp', 0], ['Lås', 255]), value: 255 },
  { name: 'Garasjeport', pairs: buttons(['Åpne', 1], ['Lukk', 0]) },
  { name: 'Brama', pairs: buttons(['Otwórz', 1], ['Zamknij', 0]) },
  { name: 'Vchodové dveře', pairs: buttons(['Odemknout', 0], ['Zamknout', 255]), value: 255 },
  { name: 'Haustüre', pairs: buttons(['Aufsperren', 0], ['Zusperren', 255]), value: 255 },
  { name: 'Ulko-ovi', pairs: buttons(['Avaa', 0], ['Lukitse', 255]), value: 255 },
  { name: 'Alarmanlage', pairs: buttons(['Scharf', 1], ['Unscharf', 0]), value: 1 },
  { name: 'Входная дверь', pairs: buttons(['Отпереть', 0], ['Запереть', 255]), value: 255 },
  { name: 'Γκαραζόπορτα', pairs: buttons(['Άνοιγμα', 1], ['Κλείσιμο', 0]) },
  { name: '玄関ドア', pairs: buttons(['解錠', 0], ['施錠', 255]), value: 255 },
  { name: '车库门', pairs: buttons(['打开', 1], ['关闭', 0]) },
  { name: 'Bejárati ajtó', pairs: BINARY_SWITCH_CONTROLS },
  { name: 'ประตูหน้า', pairs: buttons(['เปิด', 1], ['ปิด', 0]) },
]
